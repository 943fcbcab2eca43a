// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Do launches alone take 40 % (assumed) of this makespan? False as well where they take more, as
/// with device graphs, which are launched as one.
[[nodiscard]] bool waits_for_host(const Problem& problem, Duration makespan);

struct LaunchDispatchOptions {
  std::uint32_t streams = 1;
  /// A task that could start within so many launches goes first if it is more urgent.
  std::uint32_t ahead = 0;
  /// A task goes to a stream that needs more records and waits if it starts earlier there by more
  /// than so many times what these cost the host.
  std::uint32_t price = 1;

  friend bool operator==(const LaunchDispatchOptions&, const LaunchDispatchOptions&) = default;
};

/// List scheduling of the host thread, for machines on which all wait for it: it launches one task
/// after another, each time the most urgent one that could start by then (else the one that can
/// start first), on the stream on which it starts first and that needs the fewest calls. A task
/// that waits for another stream waits for the last task there that ends in time, so that tasks
/// behind it need not wait again. Launches, records, waits, latencies and gaps count; tasks that
/// run at once slow each other down by what they take of units and memory together.
/// Shapes  one device and host thread. What the problem refers to must outlive this.
class LaunchDispatch {
 public:
  explicit LaunchDispatch(const Problem& problem);

  /// Shapes  one urgency per task.
  /// Cost    O(tasks * (ready tasks + streams * (resources + log tasks)) + edges * streams).
  [[nodiscard]] PlanBuilder plan(const Urgency& urgency,
                                 const LaunchDispatchOptions& options) const;

 private:
  class Run;

  Problem problem_;
  IdVector<TaskId, Duration> launch_;
  /// Of each resource of the device the part that a task takes of it, alone.
  std::vector<IdVector<TaskId, float>> shares_;
};

}  // namespace schedlab
