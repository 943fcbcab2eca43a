// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace schedlab {

/// Where predicted minus measured makespan comes from.
enum class ErrorPart : std::uint8_t {
  kernel_time,  ///< kernels alone on the device, those bound by memory apart
  memory,       ///< kernels alone whose estimate is bound by memory traffic
  contention,   ///< interference: longer kernels, and waiting for units others hold
  host,         ///< the device waits for host calls; the host's part before and after all tasks
  gaps,         ///< between tasks that the host submitted in time: stream gap, event latency
  noise,        ///< of what no cause explains, as much as the measured median may be off
  rest,         ///< the remainder: the two runs went different ways
  drift,        ///< the machine's speed was another than when calibrated; 0 without speed checks
};
inline constexpr std::size_t error_part_count = 8;
template <>
struct EnumNames<ErrorPart> {
  static constexpr auto names =
      name_list("kernel_time", "memory", "contention", "host", "gaps", "noise", "rest", "drift");
};

/// Predicted minus measured makespan in parts that add up to it exactly.
struct ErrorBudget {
  std::array<Duration, error_part_count> parts{};
  Duration total{0};        ///< predicted - measured
  Duration noise_floor{0};  ///< half the interval of the measured median, as given

  [[nodiscard]] Duration part(ErrorPart which) const {
    return parts[static_cast<std::size_t>(which)];
  }
};

/// How long each operation's tasks take alone, as measured: the median over those that ran while
/// nothing else ran on their device. 0: there is none. Cost O(tasks * log tasks).
[[nodiscard]] IdVector<OperationId, Duration> durations_alone(const TaskGraph& graph,
                                                              std::span<const Trace> traces);

struct BudgetInput {
  const Problem& problem;  ///< what was simulated
  const Trace& simulated;
  const Trace& measured;  ///< the run nearest to the median
  Duration median{0};     ///< measured makespan: the median of all runs
  Duration noise_floor{0};
  /// As durations_alone(), of runs of the same graph under any policy; empty or 0: not known, and
  /// the estimate's duration stands for it.
  const IdVector<OperationId, Duration>& alone;
};

/// Part `drift` is left at 0: what is known of it is put there by who knows (add_drift).
///
/// Follows the critical path of the measured run through both traces. Of its tasks t1 .. tn
///   makespan = sum over i of (start of ti - end of ti-1) + sum of durations + (end - end of tn)
/// holds in the simulated trace too, whatever its own critical path, so that the differences term
/// by term add up to the difference of the makespans:
///   durations  a measured task that ran alone, and the estimate of any: kernel_time or memory;
///              what both took longer than alone: contention
///   starts     by what the longer of the two waits was for: host, gaps, contention; rest if the
///              simulated one is longer and was for none of these, or if tasks that followed each
///              other ran side by side when simulated
///   the end    after the last task of a run: host; else rest
/// The difference between the measured run and the median of all is rest. Of the rest up to
/// `noise_floor` is noise.
///
/// Errors   ContractViolation if a task of the path was not simulated.
/// Cost     O(tasks * log tasks + edges).
[[nodiscard]] ErrorBudget error_budget(const BudgetInput& input);

/// Turns the budget of a prediction at the speed of the measurement into that of the prediction as
/// it was made, which is `longer` than that (negative: shorter).
void add_drift(Duration longer, ErrorBudget& budget);

}  // namespace schedlab
