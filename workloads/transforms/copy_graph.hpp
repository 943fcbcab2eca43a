// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// Operations of a graph that is being built, equal ones once.
class OperationSet {
 public:
  /// The builder must outlive this, and get its operations from no other source.
  explicit OperationSet(TaskGraphBuilder& builder) : builder_(builder) {}
  OperationId add(const Operation& operation);

 private:
  TaskGraphBuilder& builder_;
  std::vector<Operation> operations_;
};

/// Copies edges, tensors, ranks and collectives of `graph` into `builder`, whose tasks are already
/// there: task t of `graph` has become `new_id[t]`. Several tasks may have become one: edges and
/// reads inside it are dropped. Tensors of `left_out` (1) are not copied; nullptr: none.
void copy_edges_and_tensors(const TaskGraph& graph,
                            const IdVector<TaskId, TaskId>& new_id,
                            TaskGraphBuilder& builder,
                            const IdVector<TensorId, std::uint8_t>* left_out = nullptr);

/// Adds a copy of the task, under the name it has, as `operation`.
TaskId copy_task(const TaskGraph& graph,
                 TaskId task,
                 OperationId operation,
                 TaskGraphBuilder& builder);

/// Throws InfeasibleError, in the name of `transform`, if the graph has no tensors, from which
/// alone follows who needs what, or has ranks or collectives.
void expect_tensors_on_one_device(const TaskGraph& graph, std::string_view transform);

/// The name of `task` if a copy with another id would otherwise change it, else empty.
[[nodiscard]] std::string name_to_keep(const TaskGraph& graph, TaskId task);

}  // namespace schedlab::detail
