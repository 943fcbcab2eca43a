// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/memory_use.hpp"
#include "sim/trace/summary.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// How one stream spent the run. busy + idle = makespan.
struct StreamUse {
  StreamId stream;
  std::uint32_t tasks = 0;
  Duration busy{0};
  Duration idle{0};
  Duration idle_before{0};   ///< part of idle before its first task
  Duration idle_between{0};  ///< part of idle between its tasks
  Duration idle_after{0};    ///< part of idle after its last task

  friend bool operator==(const StreamUse&, const StreamUse&) = default;
};

/// Where a device's time went, by operation.
struct OperationUse {
  std::string operation;
  std::uint32_t tasks = 0;
  Duration running{0};  ///< sum of durations
  Duration on_path{0};  ///< of tasks on the critical path
};

/// Everything that is said about one run: its summary and the details behind it.
struct Metrics : Summary {
  Duration host_blocked{
      0};  ///< host threads waited (full queue, synchronize, sleep, message); their sum
  Duration overlap{0};                      ///< critical and non-critical tasks both run
  Duration critical_busy{0};                ///< critical tasks run
  std::vector<StreamUse> stream_use;        ///< one per stream of the plan
  std::vector<OperationUse> operation_use;  ///< longest running first, then by name
  TraceCriticalPath critical_path;
  std::vector<DeviceMemory> memory;  ///< one per device; empty for graphs without tensors
};

/// `graph_bounds`: as from graph_lower_bounds(), where the caller has them already.
/// host_blocked needs recorded host calls (SimulationOptions::record_hosts), otherwise it is 0;
/// with them host_busy_share is what was recorded, without them it is the plan's call costs. Cost
/// O(tasks * log tasks + edges + tensor uses).
[[nodiscard]] Metrics compute_metrics(const Problem& problem, const Plan& plan, const Trace& trace);
[[nodiscard]] Metrics compute_metrics(const Problem& problem,
                                      const Plan& plan,
                                      const Trace& trace,
                                      const LowerBounds& graph_bounds);

}  // namespace schedlab
