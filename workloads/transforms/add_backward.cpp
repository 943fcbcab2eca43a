// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/add_backward.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/row_kernels.hpp"
#include "workloads/models/update_kernels.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// Adds gradients to a forward pass; used once.
class BackwardEmission {
 public:
  BackwardEmission(const TaskGraph& forward,
                   const std::function<bool(std::string_view)>& is_parameter)
      : forward_(forward),
        tensors_(forward.tensors()),
        operations_(builder_),
        reads_(forward.task_count()),
        writes_(forward.task_count()),
        is_parameter_(tensors_.size(), 0),
        gradients_(tensors_.size()),
        read_backward_(tensors_.size()) {
    for (const TensorId id : tensors_.ids()) {
      for (const TaskId task : tensors_.readers(id)) reads_[task].push_back(id);
      for (const TaskId task : tensors_.writers(id)) writes_[task].push_back(id);
      const bool given = tensors_.persistent(id) && tensors_.writers(id).empty();
      is_parameter_[id] = given && is_parameter(tensors_.name(id)) ? 1 : 0;
    }
  }

  [[nodiscard]] TaskGraph run() {
    IdVector<TaskId, TaskId> same;
    for (const TaskId task : forward_.tasks()) {
      if (forward_.operation(task).kernels.size() != 1) {
        throw InfeasibleError(
            fmt::format("add_backward: {} is not one kernel", forward_.name(task)));
      }
      same.push_back(
          detail::copy_task(forward_, task, operations_.add(forward_.operation(task)), builder_));
    }
    detail::copy_edges_and_tensors(forward_, same, builder_);
    const std::vector<TaskId> order = forward_.topological_order();
    std::for_each(order.rbegin(), order.rend(), [&](TaskId task) { differentiate(task); });
    for (const TensorId id : tensors_.ids()) {
      if (is_parameter_[id] != 0) update(id);
    }
    return std::move(builder_).build();
  }

 private:
  /// The gradient of a tensor and who makes it.
  struct Gradient {
    TaskId task;
    TensorId tensor;
  };

  [[nodiscard]] bool wants_gradient(TensorId id) const {
    return is_parameter_[id] != 0 || !tensors_.writers(id).empty();
  }
  [[nodiscard]] DataType type_of(TaskId task) const {
    return forward_.operation(task).kernels.front().type;
  }

  TaskId add(std::string name, TaskClass task_class, const Kernel& kernel, const Tags& tags) {
    return builder_.add_task(operations_.add({.name = std::move(name),
                                              .kind = kernel.kind,
                                              .task_class = task_class,
                                              .kernels = {kernel}}),
                             tags);
  }
  void writes_gradient(TaskId task, TensorId of) {
    const TensorId made = builder_.add_tensor(
        {.name = fmt::format("d_{}", tensors_.name(of)), .bytes = tensors_.bytes(of)});
    builder_.writes(task, made);
    gradients_[of].push_back({task, made});
  }
  void reads(TaskId task, const Gradient& gradient) {
    builder_.add_edge(gradient.task, task);
    builder_.reads(task, gradient.tensor);
  }
  /// A value of the forward pass.
  void reads_value(TaskId task, TensorId id) {
    for (const TaskId writer : tensors_.writers(id)) builder_.add_edge(writer, task);
    builder_.reads(task, id);
    read_backward_[id].push_back(task);
  }

  /// Sums what the readers of a tensor have left of its gradient.
  void sum(TensorId id, TaskId maker) {
    std::vector<Gradient>& parts = gradients_[id];
    if (parts.size() < 2) return;
    const DataType type = type_of(maker);
    const auto count = static_cast<std::int64_t>(parts.size());
    const std::int64_t elements = tensors_.bytes(id).count() / bytes_per_element(type);
    const Kernel kernel = pointwise_kernel(elements, count, static_cast<double>(count - 1), type);
    const TaskId task =
        add("gradient_sum", TaskClass::critical_pointwise, kernel, forward_.tags(maker));
    for (const Gradient& part : parts) reads(task, part);
    parts.clear();
    writes_gradient(task, id);
  }

  void differentiate(TaskId task) {
    bool last = true;  // its results have no readers: they are the loss
    for (const TensorId id : writes_[task]) {
      sum(id, task);
      last = last && tensors_.readers(id).empty();
    }
    const bool reached = std::any_of(writes_[task].begin(), writes_[task].end(), [&](TensorId id) {
      return !gradients_[id].empty();
    });
    if (!reached && !last) return;
    if (forward_.operation(task).kind == TaskKind::gemm) {
      bool first_factor = true;
      for (const TensorId id : reads_[task]) {
        if (wants_gradient(id)) differentiate_product(task, id, first_factor);
      }
    } else {
      differentiate_rows(task);
    }
  }

  /// C[m, n] = A[m, k] B[k, n]: dA[m, k] = dC B^T, dB[k, n] = A^T dC.
  void differentiate_product(TaskId task, TensorId factor, bool& first_factor) {
    const Operation& operation = forward_.operation(task);
    const Kernel& product = operation.kernels.front();
    const bool parameter = is_parameter_[factor] != 0;
    const bool is_a = !parameter && std::exchange(first_factor, false);
    Kernel kernel = product;
    kernel.m = is_a ? product.m : product.k;
    kernel.n = is_a ? product.k : product.n;
    kernel.k = is_a ? product.n : product.m;
    kernel.bytes_read = product.bytes_written + product.bytes_read -
                        std::min(product.bytes_read, tensors_.bytes(factor));
    kernel.bytes_written = tensors_.bytes(factor);
    const TaskId gradient =
        add(fmt::format("{}_{}_gradient", operation.name, parameter ? "weight" : "data"),
            parameter ? TaskClass::weight_gradient : TaskClass::critical_matmul,
            kernel,
            forward_.tags(task));
    read_incoming(gradient, task);
    for (const TensorId other : reads_[task]) {
      if (other != factor) reads_value(gradient, other);
    }
    writes_gradient(gradient, factor);
  }

  void differentiate_rows(TaskId task) {
    const Operation& operation = forward_.operation(task);
    std::vector<TensorId> wanted;
    Bytes written{0};
    bool data = false;
    for (const TensorId id : reads_[task]) {
      if (!wants_gradient(id)) continue;
      wanted.push_back(id);
      data = data || is_parameter_[id] == 0;
      written +=
          std::min(tensors_.bytes(id), std::max(operation.bytes_read(), operation.bytes_written()));
    }
    if (wanted.empty()) return;
    Kernel kernel = operation.kernels.front();
    kernel.flops = kernel.flops * 2.0;  // assumed: a derivative and its product
    kernel.bytes_read += kernel.bytes_written;
    kernel.bytes_written = written;
    const TaskId gradient = add(operation.name + "_gradient",
                                data ? TaskClass::critical_pointwise : TaskClass::weight_gradient,
                                kernel,
                                forward_.tags(task));
    read_incoming(gradient, task);
    for (const TensorId id : reads_[task]) reads_value(gradient, id);
    for (const TensorId id : wanted) writes_gradient(gradient, id);
  }

  void read_incoming(TaskId gradient, TaskId task) {
    for (const TensorId id : writes_[task]) {
      if (gradients_[id].empty()) {
        builder_.add_edge(task, gradient);
      } else {
        reads(gradient, gradients_[id].front());
      }
    }
  }

  void update(TensorId parameter) {
    if (gradients_[parameter].empty()) return;
    const TaskId reader = tensors_.readers(parameter).front();
    sum(parameter, reader);
    const DataType type = type_of(reader);
    const Kernel kernel = detail::optimizer_kernel(
        Optimizer::sgd, tensors_.bytes(parameter).count() / bytes_per_element(type), type);
    const TaskId task = add("update", TaskClass::update, kernel, forward_.tags(reader));
    reads(task, gradients_[parameter].front());
    for (const TaskId other : tensors_.readers(parameter)) builder_.add_edge(other, task);
    for (const TaskId other : read_backward_[parameter]) builder_.add_edge(other, task);
    builder_.reads(task, parameter);
  }

  const TaskGraph& forward_;
  const TensorTable& tensors_;
  TaskGraphBuilder builder_;
  detail::OperationSet operations_;
  IdVector<TaskId, std::vector<TensorId>> reads_;
  IdVector<TaskId, std::vector<TensorId>> writes_;
  IdVector<TensorId, std::uint8_t> is_parameter_;
  IdVector<TensorId, std::vector<Gradient>> gradients_;
  IdVector<TensorId, std::vector<TaskId>> read_backward_;  ///< who reads it in the backward pass
};

}  // namespace

TaskGraph add_backward(const TaskGraph& forward,
                       const std::function<bool(std::string_view)>& is_parameter) {
  detail::expect_tensors_on_one_device(forward, "add_backward");
  return BackwardEmission{forward, is_parameter}.run();
}

}  // namespace schedlab
