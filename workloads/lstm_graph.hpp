// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/lstm.hpp"
#include "workloads/lstm_kernels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Builds the graph of one LstmSpec; made by lstm(), used once. Every sub-task is emitted the same
/// way at every granularity: the granularity only decides which task a sub-task belongs to, so
/// tensors and dependencies agree.
class LstmGraph {
 public:
  explicit LstmGraph(const LstmSpec& spec);
  [[nodiscard]] TaskGraph build() &&;

 private:
  /// The tasks that hold the sub-tasks of one gradient node; equal ids where they are one task.
  struct Node {
    TaskId cell;
    TaskId hidden_1;
    TaskId hidden_2;
  };
  /// One weight matrix (or bias) of one layer and the tasks that add into its gradient.
  struct Gradient {
    std::vector<TensorId> buffers;             // [0] is the result
    std::vector<TaskId> last;                  // per buffer; the end of its chain
    std::vector<std::vector<TaskId>> writers;  // per buffer, of order by_plan
  };
  enum GradientIndex : std::size_t { of_input = 0, of_recurrent = 1, of_bias = 2 };
  /// Gate gradients of steps that no weight task has used yet.
  struct Pending {
    std::vector<TaskId> cells;
    std::vector<TensorId> gate_gradients;
    std::vector<TensorId> inputs;     // x(l, t)
    std::vector<TensorId> recurrent;  // h(l, t-1)

    void clear() {
      cells.clear();
      gate_gradients.clear();
      inputs.clear();
      recurrent.clear();
    }
  };

  // lstm.cpp
  [[nodiscard]] std::size_t estimated_tasks() const;
  void add_parameters();
  void add_transfer_in();
  void add_loss();
  void add_update(std::int64_t layer);
  void add_transfer_out();

  // lstm_forward.cpp
  void add_forward();
  void add_forward_node(std::int64_t layer, std::int64_t step);
  void add_forward_tensors(
      std::int64_t layer, std::int64_t step, TaskId input, TaskId recurrent, TaskId cell);

  // lstm_backward.cpp
  void add_backward_borders();
  void add_backward();
  [[nodiscard]] Node add_data_tasks(std::int64_t layer, std::int64_t step);
  void add_data_edges(std::int64_t layer, std::int64_t step, const Node& node);
  void add_data_tensors(std::int64_t layer, std::int64_t step, const Node& node);
  void add_weights(std::int64_t layer, std::int64_t step, const Node& node);
  void add_weight_task(std::int64_t layer, std::int64_t step, GradientIndex index, TaskId task);
  void add_reductions(std::int64_t layer);

  [[nodiscard]] std::int64_t steps_per_weight_task() const;
  [[nodiscard]] bool whole_nodes() const { return spec_.granularity == Granularity::coarse; }
  [[nodiscard]] bool data_nodes() const {
    return spec_.granularity == Granularity::data_and_weight;
  }
  [[nodiscard]] bool bias_apart() const { return spec_.granularity == Granularity::matmul; }
  [[nodiscard]] bool training() const { return spec_.pass == LstmPass::training; }

  [[nodiscard]] LstmShape shape(std::int64_t layer) const;
  [[nodiscard]] std::int64_t element_bytes(std::int64_t elements) const {
    return elements * bytes_per_element(spec_.type);
  }
  [[nodiscard]] std::size_t at(std::int64_t layer, std::int64_t step) const {
    return static_cast<std::size_t>(layer * spec_.steps + step);
  }
  [[nodiscard]] static Tags tags(std::int64_t layer, std::int64_t step);
  /// A tensor that belongs to no step; step -1 is the state before the first.
  static constexpr std::int64_t no_step = std::numeric_limits<std::int64_t>::min();

  /// Adds the operation unless an equal one exists; kind composite if the kernels differ in kind.
  OperationId operation(std::string_view name, TaskClass task_class, std::vector<Kernel> kernels);
  TaskId task(std::string_view name,
              TaskClass task_class,
              std::vector<Kernel> kernels,
              std::int64_t layer,
              std::int64_t step);
  void edge(TaskId from, TaskId to);
  [[nodiscard]] TensorId tensor(std::string_view name,
                                std::int64_t layer,
                                std::int64_t step,
                                std::int64_t elements,
                                bool persistent,
                                bool accumulate = false);
  void reads(TaskId task, TensorId tensor);
  void writes(TaskId task, TensorId tensor);

  LstmSpec spec_;
  TaskGraphBuilder builder_;
  std::vector<Operation> operations_;  // the same as in builder_, to find equal ones

  // Tensors per layer; none() where the spec wants no tensors.
  std::vector<TensorId> input_weights_;
  std::vector<TensorId> recurrent_weights_;
  std::vector<TensorId> initial_h_;
  std::vector<TensorId> initial_c_;
  TensorId input_;
  TensorId output_gradient_;  // dy
  TensorId loss_value_;

  // Activations per (layer, step); in pass backward all steps of a layer share one persistent
  // tensor.
  std::vector<TensorId> gates_;
  std::vector<TensorId> c_;
  std::vector<TensorId> h_;
  std::vector<TaskId> forward_cell_;  // per layer, of the last step emitted

  // Backward state per layer: of step t + 1 until the node of step t has been emitted.
  std::vector<Node> node_;
  std::vector<TensorId> dh_;
  std::vector<TensorId> dc_;
  std::vector<TensorId> dx_;
  std::vector<TensorId> gate_gradient_;  // of the node just emitted
  std::vector<Pending> pending_;
  std::vector<std::array<Gradient, 3>> gradients_;
  std::vector<std::vector<TaskId>>
      weight_readers_;  // hidden_1, hidden_2: update overwrites what they read
  std::pair<TaskId, TensorId> last_read_;

  TaskId transfer_in_;
  TaskId loss_;
};

}  // namespace schedlab::detail
