// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstdint>

namespace schedlab::detail {

/// The graph with the tasks of a group as one task, and which task each has become. Kernels become
/// one as CriticalPartition says; groups may not wait for each other.
struct JoinedGraph {
  TaskGraph graph;
  IdVector<TaskId, TaskId> new_id;
};

/// `group_of`: per task the lowest id of its group. Cost O(tasks * operations + edges + uses).
[[nodiscard]] JoinedGraph join_groups(const TaskGraph& graph,
                                      const IdVector<TaskId, TaskId>& group_of);

}  // namespace schedlab::detail
