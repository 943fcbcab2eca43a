// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// What flows between the parts of a model at one step: who makes it and where it lies. A value
/// without a task is given from outside the graph; one that is not `present` does not exist (the
/// gradient of an unused output).
struct Value {
  TaskId task;
  TensorId tensor;
  bool present = true;
};
/// One value per time step.
using Steps = std::vector<Value>;

/// What generators of models share: equal operations are kept once, tensors may be left out.
class GraphEmitter {
 public:
  GraphEmitter(DataType type, bool with_tensors, bool tensor_names)
      : type_(type), with_tensors_(with_tensors), tensor_names_(tensor_names) {}

  /// A tensor that belongs to no step; step -1 is the state before the first.
  static constexpr std::int64_t no_step = std::numeric_limits<std::int64_t>::min();

  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] bool with_tensors() const { return with_tensors_; }
  [[nodiscard]] std::int64_t bytes(std::int64_t elements) const {
    return elements * bytes_per_element(type_);
  }
  void reserve(std::size_t tasks) { builder_.reserve(tasks, 2 * tasks); }

  /// Adds the operation unless an equal one exists; kind composite if the kernels differ in kind.
  [[nodiscard]] OperationId operation(std::string_view name,
                                      TaskClass task_class,
                                      std::vector<Kernel> kernels);
  /// Layer and step -1: none.
  TaskId task(OperationId operation, std::int64_t layer, std::int64_t step) {
    return builder_.add_task(
        operation,
        {.layer = static_cast<std::int16_t>(layer), .step = static_cast<std::int32_t>(step)});
  }
  /// Nothing to do where the predecessor lies outside the graph or both sub-tasks are one task.
  void edge(TaskId from, TaskId to) {
    if (from.valid() && from != to) builder_.add_edge(from, to);
  }
  /// none() without tensors.
  [[nodiscard]] TensorId tensor(std::string_view name,
                                std::int64_t layer,
                                std::int64_t step,
                                std::int64_t elements,
                                bool persistent,
                                bool accumulate = false);
  /// A repeated read (all steps of a layer may share one tensor) is noted once.
  void reads(TaskId task, TensorId tensor) {
    if (!tensor.valid() || last_read_ == std::pair{task, tensor}) return;
    last_read_ = {task, tensor};
    builder_.reads(task, tensor);
  }
  void writes(TaskId task, TensorId tensor) {
    if (tensor.valid()) builder_.writes(task, tensor);
  }
  /// The task needs the value: an edge and a read.
  void needs(TaskId task, const Value& value) {
    if (!value.present) return;
    edge(value.task, task);
    reads(task, value.tensor);
  }

  [[nodiscard]] TaskGraph build() && { return std::move(builder_).build(); }

 private:
  DataType type_;
  bool with_tensors_;
  bool tensor_names_;
  TaskGraphBuilder builder_;
  std::vector<Operation> operations_;  // the same as in builder_, to find equal ones
  std::pair<TaskId, TensorId> last_read_;
};

}  // namespace schedlab::detail
