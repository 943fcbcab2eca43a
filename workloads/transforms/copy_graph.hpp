// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/graph/task_graph.hpp"

namespace schedlab::detail {

/// Copies edges, tensors, ranks and collectives of `graph` into `builder`, whose tasks are already
/// there: task t of `graph` has become `new_id[t]`. Several tasks may have become one: edges and
/// reads inside it are dropped.
void copy_edges_and_tensors(const TaskGraph& graph,
                            const IdVector<TaskId, TaskId>& new_id,
                            TaskGraphBuilder& builder);

/// The name of `task` if a copy with another id would otherwise change it, else empty.
[[nodiscard]] std::string name_to_keep(const TaskGraph& graph, TaskId task);

}  // namespace schedlab::detail
