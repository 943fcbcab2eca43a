// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <vector>

namespace schedlab {

/// Longest path from each task to any exit, the task itself included (b-level).
///
/// Shapes  durations: one per task.   Cost  O(tasks + edges).
/// Source  Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, doi 10.1109/71.993206; transfers are tasks
/// here.
[[nodiscard]] IdVector<TaskId, Duration> upward_rank(const TaskGraph& graph,
                                                     const IdVector<TaskId, Duration>& durations);

/// Longest path from any entry to each task, the task itself excluded (t-level): its earliest
/// start.
[[nodiscard]] IdVector<TaskId, Duration> downward_rank(const TaskGraph& graph,
                                                       const IdVector<TaskId, Duration>& durations);

/// Latest minus earliest start without lengthening the critical path.
[[nodiscard]] IdVector<TaskId, Duration> slack(const TaskGraph& graph,
                                               const IdVector<TaskId, Duration>& durations);

/// One longest path, entry to exit; among equals the one through the lowest task ids. Empty graph:
/// empty.
[[nodiscard]] std::vector<TaskId> critical_path(const TaskGraph& graph,
                                                const IdVector<TaskId, Duration>& durations);
[[nodiscard]] Duration critical_path_length(const TaskGraph& graph,
                                            const IdVector<TaskId, Duration>& durations);

/// Breadth-first level of each task: 0 for entries, else 1 + the highest level of a predecessor.
[[nodiscard]] IdVector<TaskId, std::uint32_t> levels(const TaskGraph& graph);

}  // namespace schedlab
