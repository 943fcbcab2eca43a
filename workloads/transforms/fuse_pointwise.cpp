// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/fuse_pointwise.hpp"

#include "workloads/transforms/copy_graph.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

class Fusion {
 public:
  explicit Fusion(const TaskGraph& graph)
      : graph_(graph),
        operations_(builder_),
        writes_(graph.task_count()),
        joined_to_(graph.task_count(), TaskId::none()),
        between_(graph.tensors().size(), false) {
    for (const TensorId tensor : graph.tensors().ids()) {
      for (const TaskId task : graph.tensors().writers(tensor)) writes_[task].push_back(tensor);
    }
  }

  [[nodiscard]] TaskGraph run() {
    for (const TaskId task : graph_.tasks()) find_joint(task);
    // What has been joined to a task so far, so that chains add up.
    IdVector<TaskId, Operation> fused;
    for (const TaskId task : graph_.tasks()) fused.push_back(graph_.operation(task));
    for (const TaskId task : graph_.topological_order()) {
      if (joined_to_[task].valid()) join(fused[task], task, fused[joined_to_[task]]);
    }
    new_id_ = IdVector<TaskId, TaskId>(graph_.task_count(), TaskId::none());
    for (const TaskId task : graph_.tasks()) {
      if (joined_to_[task].valid()) continue;
      new_id_[task] = detail::copy_task(graph_, task, operations_.add(fused[task]), builder_);
    }
    for (const TaskId task : graph_.tasks()) new_id_[task] = new_id_[last_of(task)];
    for (const TaskId task : graph_.tasks()) {
      for (const TaskId next : graph_.successors(task)) {
        if (new_id_[task] != new_id_[next]) builder_.add_edge(new_id_[task], new_id_[next]);
      }
    }
    copy_tensors();
    return std::move(builder_).build();
  }

 private:
  [[nodiscard]] bool may_join(TaskId task) const {
    const Operation& operation = graph_.operation(task);
    return operation.kind == TaskKind::pointwise && operation.kernels.size() == 1 &&
           operation.task_class != TaskClass::update &&
           operation.task_class != TaskClass::transfer && writes_[task].size() == 1;
  }

  void find_joint(TaskId task) {
    if (!may_join(task) || graph_.successors(task).size() != 1) return;
    const TensorTable& tensors = graph_.tensors();
    const TensorId result = writes_[task].front();
    const TaskId next = graph_.successors(task).front();
    const auto readers = tensors.readers(result);
    if (readers.size() != 1 || readers.front() != next || !may_join(next)) return;
    if (tensors.persistent(result) || tensors.accumulate(result)) return;
    const Kernel& first = graph_.operation(task).kernels.front();
    const Kernel& second = graph_.operation(next).kernels.front();
    if (first.type != second.type || first.bytes_written != second.bytes_written) return;
    if (first.bytes_written != tensors.bytes(result)) return;
    joined_to_[task] = next;
    between_[result] = true;
  }

  /// `into` becomes `first` and itself, without what lies between.
  void join(const Operation& first, TaskId task, Operation& into) const {
    const Bytes between = graph_.tensors().bytes(writes_[task].front());
    const Kernel& before = first.kernels.front();
    Kernel& kernel = into.kernels.front();
    kernel.flops += before.flops;
    kernel.bytes_read += before.bytes_read - std::min(between, kernel.bytes_read);
    into.name = first.name + "+" + into.name;
    into.fixed_duration += first.fixed_duration;
  }

  [[nodiscard]] TaskId last_of(TaskId task) const {
    while (joined_to_[task].valid()) task = joined_to_[task];
    return task;
  }

  void copy_tensors() {
    const TensorTable& tensors = graph_.tensors();
    for (const TensorId tensor : tensors.ids()) {
      if (between_[tensor]) continue;
      const TensorId copy = builder_.add_tensor({.name = tensors.name(tensor),
                                                 .bytes = tensors.bytes(tensor),
                                                 .accumulate = tensors.accumulate(tensor),
                                                 .persistent = tensors.persistent(tensor)});
      for (const TaskId task : tensors.writers(tensor)) builder_.writes(new_id_[task], copy);
      std::vector<TaskId> readers;  // two tasks of a chain may read the same
      for (const TaskId task : tensors.readers(tensor)) readers.push_back(new_id_[task]);
      std::sort(readers.begin(), readers.end());
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
      for (const TaskId task : readers) builder_.reads(task, copy);
    }
  }

  const TaskGraph& graph_;
  TaskGraphBuilder builder_;
  detail::OperationSet operations_;
  IdVector<TaskId, std::vector<TensorId>> writes_;
  IdVector<TaskId, TaskId> joined_to_;  ///< none: stays
  IdVector<TensorId, bool> between_;    ///< inside a joint
  IdVector<TaskId, TaskId> new_id_;
};

}  // namespace

TaskGraph FusePointwise::apply(const TaskGraph& graph) const {
  detail::expect_tensors_on_one_device(graph, name());
  return Fusion{graph}.run();
}

}  // namespace schedlab
