// SPDX-License-Identifier: Apache-2.0
// Internal to the ladder: later starts by what all tasks before a task take of resources.
#pragma once

#include "sim/bounds/demands.hpp"
#include "sim/bounds/witness.hpp"

#include <vector>

namespace schedlab::bounds {

/// Least starts of tasks, or least times after their ends, with what shows them.
struct LeastTimes {
  IdVector<TaskId, Duration> head;
  IdVector<TaskId, Duration> tail;
  std::vector<Tightening> heads{};  ///< in a topological order
  std::vector<Tightening> tails{};  ///< in one of the reversed graph
};

/// Raises heads and tails (those of the longest paths): before a task starts, all tasks before it
/// have had what they take of each pool, and their launches. Cost  O(tasks * (tasks + edges) *
/// pools).
void tighten(const BoundProblem& on, const IdVector<TaskId, Duration>& duration, LeastTimes& times);

}  // namespace schedlab::bounds
