// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/remove_dead.hpp"

#include "workloads/transforms/copy_graph.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

class DeadTasks {
 public:
  explicit DeadTasks(const TaskGraph& graph)
      : graph_(graph), writes_(graph.task_count()), used_(graph.task_count(), false) {
    for (const TensorId tensor : graph.tensors().ids()) {
      for (const TaskId task : graph.tensors().writers(tensor)) writes_[task].push_back(tensor);
    }
  }

  /// Per task: is its result used?
  [[nodiscard]] const IdVector<TaskId, bool>& find() {
    const std::vector<TaskId> order = graph_.topological_order();
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
      if (!used_[*task]) used_[*task] = is_root(*task) || anyone_uses(*task);
    }
    return used_;
  }

 private:
  [[nodiscard]] bool is_root(TaskId task) const {
    const auto& writes = writes_[task];
    if (writes.empty()) return true;
    if (graph_.operation(task).kind == TaskKind::copy_device_to_host) return true;
    return std::any_of(writes.begin(), writes.end(), [this](TensorId tensor) {
      return graph_.tensors().persistent(tensor);
    });
  }

  /// Later tasks are decided already.
  [[nodiscard]] bool anyone_uses(TaskId task) const {
    return std::any_of(writes_[task].begin(), writes_[task].end(), [&](TensorId tensor) {
      const auto uses = [&](TaskId other) { return other != task && used_[other]; };
      const auto readers = graph_.tensors().readers(tensor);
      const auto writers = graph_.tensors().writers(tensor);
      return std::any_of(readers.begin(), readers.end(), uses) ||
             std::any_of(writers.begin(), writers.end(), uses);
    });
  }

  const TaskGraph& graph_;
  IdVector<TaskId, std::vector<TensorId>> writes_;
  IdVector<TaskId, bool> used_;
};

/// Edges among used tasks, and those that stand for ways through removed ones.
void copy_orders(const TaskGraph& graph,
                 const IdVector<TaskId, bool>& used,
                 const IdVector<TaskId, TaskId>& new_id,
                 TaskGraphBuilder& builder) {
  // Of removed tasks: the used tasks that come before through removed ones only.
  IdVector<TaskId, std::set<TaskId>> before(graph.task_count());
  for (const TaskId task : graph.topological_order()) {
    std::set<TaskId> own;
    for (const TaskId predecessor : graph.predecessors(task)) {
      if (used[predecessor]) {
        own.insert(predecessor);
      } else {
        own.insert(before[predecessor].begin(), before[predecessor].end());
      }
    }
    if (used[task]) {
      for (const TaskId predecessor : own) builder.add_edge(new_id[predecessor], new_id[task]);
    } else {
      before[task] = std::move(own);
    }
  }
}

void copy_tensors(const TaskGraph& graph,
                  const IdVector<TaskId, TaskId>& new_id,
                  TaskGraphBuilder& builder) {
  const TensorTable& tensors = graph.tensors();
  for (const TensorId tensor : tensors.ids()) {
    const auto lives = [&](TaskId task) { return new_id[task].valid(); };
    const auto writers = tensors.writers(tensor);
    const auto readers = tensors.readers(tensor);
    if (!tensors.persistent(tensor) && std::none_of(writers.begin(), writers.end(), lives) &&
        std::none_of(readers.begin(), readers.end(), lives)) {
      continue;
    }
    const TensorId copy = builder.add_tensor({.name = tensors.name(tensor),
                                              .bytes = tensors.bytes(tensor),
                                              .accumulate = tensors.accumulate(tensor),
                                              .persistent = tensors.persistent(tensor)});
    for (const TaskId task : writers) {
      if (lives(task)) builder.writes(new_id[task], copy);
    }
    for (const TaskId task : readers) {
      if (lives(task)) builder.reads(new_id[task], copy);
    }
  }
}

}  // namespace

TaskGraph RemoveDead::apply(const TaskGraph& graph) const {
  detail::expect_tensors_on_one_device(graph, name());
  const IdVector<TaskId, bool> used = DeadTasks{graph}.find();
  TaskGraphBuilder builder;
  detail::OperationSet operations{builder};
  IdVector<TaskId, TaskId> new_id(graph.task_count(), TaskId::none());
  for (const TaskId task : graph.tasks()) {
    if (!used[task]) continue;
    new_id[task] = detail::copy_task(graph, task, operations.add(graph.operation(task)), builder);
  }
  copy_orders(graph, used, new_id, builder);
  copy_tensors(graph, new_id, builder);
  return std::move(builder).build();
}

}  // namespace schedlab
