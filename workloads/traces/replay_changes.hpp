// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/replay.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace schedlab {

/// A replay with something changed: what would have been. Times of the profile no longer belong to
/// it; gains are told against the replay that it was made from.
struct ChangedReplay {
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  Plan plan;
  std::uint32_t touched = 0;  ///< tasks or host calls that were changed; 0: nothing was

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

/// The operations whose name has `part` in it. Throws InputError if there are none; names the
/// longest ones that there are.
[[nodiscard]] std::vector<OperationId> find_kernels(const TaskGraph& graph, std::string_view part);

/// Tasks of these operations take `factor` of their time.
[[nodiscard]] ChangedReplay scale_kernels(const ReplayModel& model,
                                          const std::vector<OperationId>& which,
                                          double factor);
/// Every task takes what `duration` says of it.
[[nodiscard]] ChangedReplay with_durations(const ReplayModel& model,
                                           const std::function<Duration(TaskId)>& duration);
/// Without the tasks of these operations, and without the host's work up to their launches. What
/// waited for them waits for what they waited for. Nodes of device graphs are left with no
/// duration, tasks of joined collectives as they are.
[[nodiscard]] ChangedReplay remove_kernels(const ReplayModel& model,
                                           const std::vector<OperationId>& which);
/// Tasks of these operations that a host launches one after another into one stream, with no other
/// call but its own work between, become one: as long as all together, without the gaps and without
/// the host's work for all but the first.
[[nodiscard]] ChangedReplay fuse_kernels(const ReplayModel& model,
                                         const std::vector<OperationId>& which);
/// The hosts' own work takes `factor` of its time.
[[nodiscard]] ChangedReplay scale_hosts(const ReplayModel& model, double factor);
/// One rank's host and kernels, its collectives apart, take `factor` of their time.
[[nodiscard]] ChangedReplay slow_rank(const ReplayModel& model, std::uint32_t rank, double factor);
/// What the hosts launched from `from` to `to` (on the run's clock) is launched at once: their own
/// work between these calls is left out. A synchronisation in between stays, and parts it. Each
/// part costs its host what the first of its launches did, and by how much more a launch of a graph
/// takes than that of a kernel, where the trace has both (medians of the calls).
[[nodiscard]] ChangedReplay launch_at_once(const ReplayModel& model, Time from, Time to);

/// The same work for a host that needs equally long for every launch, the mean of this trace, and
/// nothing else: what plans of policies, which know no host work, can be compared with.
[[nodiscard]] ChangedReplay with_mean_host(const ReplayModel& model);

}  // namespace schedlab
