// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/error_budget.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// Percentiles of absolute errors (type 7, as percentile()); 0 without samples.
struct ErrorQuantiles {
  double p50 = 0;
  double p90 = 0;

  friend bool operator==(const ErrorQuantiles&, const ErrorQuantiles&) = default;
};

/// One task in both kinds of run. Measured: medians over the measured traces.
struct TaskComparison {
  TaskId task;
  Duration simulated_start{0};
  Duration measured_start{0};
  Duration simulated_duration{0};
  Duration measured_duration{0};
};

/// Errors of the tasks of one kind, of one operation or of all.
struct TaskErrors {
  std::string name;
  std::uint32_t tasks = 0;
  ErrorQuantiles duration;        ///< |simulated - measured| / measured duration, task by task
  ErrorQuantiles start;           ///< |simulated - measured| / measured makespan
  Duration simulated_running{0};  ///< sum of durations
  Duration measured_running{0};
  /// simulated_running / measured_running - 1: the error that does not average out; 0 where
  /// nothing ran.
  double bias = 0;
};

struct TraceComparison {
  Duration predicted{0};  ///< simulated makespan
  Duration measured{0};   ///< median of the measured makespans
  double error = 0;       ///< (predicted - measured) / measured
  TaskErrors all;
  std::vector<TaskErrors> by_kind;       ///< in the order of TaskKind
  std::vector<TaskErrors> by_operation;  ///< in the order of operations; only those that ran
  std::vector<TaskComparison> tasks;     ///< by task; only those in every trace
  Duration simulated_busy{0};  ///< time in which at least one task ran, summed over devices
  Duration measured_busy{0};   ///< the same of the run nearest to the median
  ErrorBudget budget;
};

struct ComparisonInput {
  const Problem& problem;
  const Trace& simulated;
  /// At least one; of the same plan, or of what the same online policy decided.
  std::span<const Trace> measured;
  /// Makespans of all measured runs, of which `measured` may be some; empty: those of `measured`.
  std::span<const Duration> makespans{};
  /// As durations_alone(); empty: from `measured` itself.
  const IdVector<OperationId, Duration>* alone = nullptr;
  /// Half the 95 % interval of the median measured makespan.
  Duration noise_floor{0};
};

/// Index of the trace whose makespan is nearest to `median`; the first of equals.
[[nodiscard]] std::size_t nearest_to(std::span<const Trace> traces, Duration median);
/// The middle one, or the mean of the two in the middle, rounded down; not empty.
[[nodiscard]] Duration median_of(std::vector<Duration> durations);

/// Errors   ContractViolation without measured traces, for a task the graph does not have, and what
///          error_budget() throws.
/// Cost     O(traces * tasks * log tasks + edges).
[[nodiscard]] TraceComparison compare_traces(const ComparisonInput& input);

}  // namespace schedlab
