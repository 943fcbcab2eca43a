// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/renumber.hpp"

#include "workloads/transforms/copy_graph.hpp"

#include <string>
#include <utility>

namespace schedlab {

TaskGraph TopologicalRenumber::apply(const TaskGraph& graph) const {
  TaskGraphBuilder builder;
  builder.reserve(graph.task_count(), graph.edge_count());
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  IdVector<TaskId, TaskId> new_id(graph.task_count());
  for (const TaskId task : graph.topological_order()) {
    const std::string name = detail::name_to_keep(graph, task);
    const TaskId copy = name.empty()
                            ? builder.add_task(graph.operation_id(task), graph.tags(task))
                            : builder.add_task(graph.operation_id(task), graph.tags(task), name);
    if (graph.has_task_durations()) builder.set_duration(copy, graph.fixed_duration(task));
    new_id[task] = copy;
  }
  detail::copy_edges_and_tensors(graph, new_id, builder);
  return std::move(builder).build();
}

}  // namespace schedlab
