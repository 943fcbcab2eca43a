// SPDX-License-Identifier: Apache-2.0
// Internal to the ladder: later starts by what all tasks before a task take of resources.
#pragma once

#include "sim/bounds/demands.hpp"
#include "sim/bounds/witness.hpp"

#include <utility>
#include <vector>

namespace schedlab::bounds {

/// Least starts of tasks, or least times after their ends, with what shows them.
struct LeastTimes {
  IdVector<TaskId, Duration> head;
  IdVector<TaskId, Duration> tail;
  std::vector<Tightening> heads{};  ///< in a topological order
  std::vector<Tightening> tails{};  ///< in one of the reversed graph
};

/// The tasks with the longest rests are launched by the sum of their launches over the hosts at the
/// earliest; whichever is the last of them has the least of their rests still before it.
struct HostBound {
  Duration bound{0};
  Duration rest{0};
};
/// The best of all rests; `rests`: of tasks from their starts on. Reorders them. Cost  O(n log n).
[[nodiscard]] HostBound host_bound(const BoundProblem& on,
                                   std::vector<std::pair<Duration, TaskId>>& rests);

/// Raises heads and tails (those of the longest paths): before a task starts, all tasks before it
/// have had what they take of each pool, and their launches. Cost  O(tasks * (tasks + edges) *
/// pools).
void tighten(const BoundProblem& on, const IdVector<TaskId, Duration>& duration, LeastTimes& times);

}  // namespace schedlab::bounds
