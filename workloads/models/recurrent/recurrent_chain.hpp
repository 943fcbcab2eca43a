// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/graph_emitter.hpp"
#include "workloads/models/recurrent/recurrent.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// One direction of one recurrent layer.
struct ChainSpec {
  RecurrentShape shape;
  std::int64_t steps = 1;
  std::int64_t layer = 0;                ///< tag of its tasks; unlike in all chains of a graph
  bool reverse = false;                  ///< runs from the last step to the first
  bool returns_input_gradients = false;  ///< dx is a result of the graph
  RecurrentCut cut;
  RecurrentPass pass = RecurrentPass::backward;
  Recompute recompute = Recompute::keep_backward;
  std::int64_t segment = 0;  ///< steps that gradients flow through, not of `reverse`; 0: all
};

/// Steps of a chain whose hidden_2 are one task; 1 where it is none.
[[nodiscard]] std::int64_t output_group(const ChainSpec& spec);

/// Emits the tasks of one chain: the steps of one direction of one recurrent layer, connected to
/// other parts of a model by Values. Every sub-task is emitted the same way at every granularity:
/// the granularity only decides which task a sub-task belongs to, so tensors and dependencies
/// agree.
///
/// Order of use: wire the inputs; add_parameters; forward(0..steps-1); wire the upstream
/// gradients; add_borders; backward(0..steps-1); add_reductions; add_update. Steps that are pointed
/// to must outlive the chain; of those only what a call needs must be filled in by then.
class RecurrentChain {
 public:
  RecurrentChain(GraphEmitter& out, const ChainSpec& spec);
  RecurrentChain(const RecurrentChain&) = delete;
  RecurrentChain& operator=(const RecurrentChain&) = delete;
  ~RecurrentChain() = default;

  /// A part of the input; parts lie side by side in its width.
  void add_input(const Steps* values) { inputs_.push_back(values); }
  /// Gradients of the output that are summed.
  void add_upstream(const Steps* values) { upstream_.push_back(values); }
  /// The output is h + this; the input of the layer, of width hidden.
  void set_residual(const Steps* values) { residual_ = values; }
  /// The state before the first step, where another part makes it.
  void set_initial(const Value& h, const Value& c);
  /// Gradients of the state after the last step, where another part uses it.
  void set_final_gradients(const Value& dh, const Value& dc);

  void add_parameters();
  /// The i-th node in the chain's direction.
  void forward(std::int64_t i);
  /// The node of `step` once more, from the state of the step before.
  void recompute(std::int64_t step) { recompute(step, Recomputed::state); }
  /// Gradient buffers, and in pass backward the activations.
  void add_borders();
  /// The i-th gradient node against the chain's direction; with data drop its values first.
  void backward(std::int64_t i);
  /// Sums the buffers of accumulation `partial`.
  void add_reductions();
  void add_update(Optimizer optimizer);

  [[nodiscard]] const Steps& outputs() const { return outputs_; }
  /// dx[batch, width] of each step.
  [[nodiscard]] const Steps& input_gradients() const { return dx_; }
  /// What the layer below sums, of a residual chain including the path around it.
  [[nodiscard]] const Steps& downstream() const { return residual_ != nullptr ? skip_ : dx_; }
  /// State after the last step emitted, and gradient of the state before the first.
  [[nodiscard]] Value final_h() const;
  [[nodiscard]] Value final_c() const;
  [[nodiscard]] Value initial_h_gradient() const { return {node_.hidden_1, dh_, true}; }
  [[nodiscard]] Value initial_c_gradient() const { return {node_.cell, carry_, true}; }
  [[nodiscard]] const RecurrentShape& shape() const { return spec_.shape; }

 private:
  /// The tasks that hold the sub-tasks of one gradient node; equal ids where they are one task.
  struct Node {
    TaskId first;      // takes the incoming gradients; the cell unless one of the next two is there
    TaskId candidate;  // none() unless the cell has one; the product of a projection
    TaskId cell;
    TaskId hidden_1;
    TaskId hidden_2;
    TaskId residual;  // none() unless residual
  };
  struct ForwardNode {
    TaskId input;
    TaskId recurrent;
    TaskId gates;      // the cell unless it has a candidate
    TaskId candidate;  // none() unless the cell has one
    TaskId cell;
    TaskId output;    // writes h: the cell, or its projection
    TaskId residual;  // none() unless residual
  };
  /// What a forward node computes anew; also the key of its operations.
  enum class Recomputed : std::uint8_t { nothing, values, state };
  /// One weight matrix (or bias) and the tasks that add into its gradient.
  struct Gradient {
    std::vector<TensorId> buffers;             // [0] is the result
    std::vector<TaskId> last;                  // per buffer; the end of its chain
    std::vector<std::vector<TaskId>> writers;  // per buffer, of order by_plan
  };
  enum GradientIndex : std::size_t { of_input, of_recurrent, of_candidate, of_bias };
  /// Gate gradients of steps that no weight task has used yet.
  struct Pending {
    std::int64_t steps = 0;
    std::vector<TaskId> firsts;
    std::vector<TaskId> cells;
    std::vector<TensorId> candidate_gradients;
    std::vector<TensorId> gate_gradients;
    std::vector<TensorId> inputs;
    std::vector<TensorId> recurrent;  // h before the step
    std::vector<TensorId> inner;      // what weight_3 reads
    TaskId transpose;                 // of k_major, and what it has written
    TensorId input_copy;
    TensorId recurrent_copy;
    TensorId gate_gradient_copy;

    void clear();
  };
  /// A gradient node whose product for the layer below is yet to come.
  struct GatheredNode {
    std::int64_t step = 0;
    TaskId first;
    TaskId cell;
    TensorId gate_gradient;
    TensorId candidate_gradient;
  };
  /// An operation that was used last with `key`.
  struct Cached {
    OperationId id;
    std::int64_t key = -1;
  };
  enum OperationIndex : std::size_t {
    op_input,  // forward nodes, whether for the first time or again
    op_recurrent,
    op_gates,
    op_candidate_forward,
    op_cell_forward,
    op_projection,
    op_residual,
    op_first,
    op_candidate,
    op_cell,
    op_hidden_1,
    op_hidden_2,
    op_skip,
    op_transpose,
    op_weight,  // one per GradientIndex
    operation_count = op_weight + 4
  };

  [[nodiscard]] bool whole_nodes() const { return spec_.cut.granularity == Granularity::coarse; }
  [[nodiscard]] bool data_nodes() const {
    return spec_.cut.granularity == Granularity::data_and_weight;
  }
  /// One weight GEMM of each kind per chain.
  [[nodiscard]] bool weights_at_once() const {
    return data_nodes() || spec_.cut.granularity == Granularity::kernel_and_weight;
  }
  [[nodiscard]] bool bias_apart() const { return spec_.cut.granularity == Granularity::matmul; }
  [[nodiscard]] bool training() const { return spec_.pass == RecurrentPass::training; }
  [[nodiscard]] bool has_candidate() const { return cells_.candidate_gates > 0; }
  [[nodiscard]] bool projected() const { return spec_.shape.projection > 0; }
  /// A product comes between the gradients that arrive and the cell.
  [[nodiscard]] bool two_parts() const { return has_candidate() || projected(); }
  [[nodiscard]] std::int64_t step_at(std::int64_t i) const {
    return spec_.reverse ? spec_.steps - 1 - i : i;
  }
  /// The step before in the chain's direction; -1 or steps stand for the initial state.
  [[nodiscard]] std::int64_t before(std::int64_t step) const {
    return spec_.reverse ? step + 1 : step - 1;
  }
  [[nodiscard]] bool is_first(std::int64_t step) const {
    return step == (spec_.reverse ? spec_.steps - 1 : 0);
  }
  /// Truncated back-propagation: the last gradient node of its segment.
  [[nodiscard]] bool begins_segment(std::int64_t step) const {
    return spec_.segment > 0 && step % spec_.segment == 0;
  }
  /// No gradient node that uses what this one adds up follows at once.
  [[nodiscard]] bool ends_sums(std::int64_t step) const {
    return is_first(step) || begins_segment(step);
  }
  void begin_segment(const ForwardNode& node);
  [[nodiscard]] TensorId h_before(std::int64_t step) const;
  [[nodiscard]] TensorId c_before(std::int64_t step) const;
  [[nodiscard]] std::int64_t upstream_count(std::int64_t step) const;
  [[nodiscard]] std::int64_t steps_per_weight_task() const;
  [[nodiscard]] std::int64_t gradient_elements(GradientIndex index) const;
  [[nodiscard]] std::size_t buffer_count() const;
  [[nodiscard]] TensorId tensor(std::string_view name,
                                std::int64_t step,
                                std::int64_t elements,
                                bool persistent,
                                bool accumulate = false);

  /// The task of operation `index`, made by `kernels()` if `key` is not the last one used.
  template <class MakeKernels>
  TaskId task(std::size_t index,
              std::int64_t key,
              std::string_view name,
              TaskClass task_class,
              std::int64_t step,
              const MakeKernels& kernels);

  [[nodiscard]] std::int64_t input_group() const {
    const std::int64_t steps = spec_.cut.input_steps;
    return steps == 0 ? spec_.steps : std::min(steps, spec_.steps);
  }
  [[nodiscard]] bool inputs_batched() const { return spec_.cut.input_steps != 1; }
  /// Steps whose products dG * Wx^T, which lead to the layer below, are one.
  [[nodiscard]] std::int64_t output_steps() const { return output_group(spec_); }
  [[nodiscard]] bool outputs_batched() const { return output_steps() != 1; }
  /// Parts of the dh that a step's cell reads, and that its hidden_1 writes.
  [[nodiscard]] std::int64_t slices_read(std::int64_t step) const {
    return step == step_at(spec_.steps - 1) ? 1 : spec_.cut.hidden_1_slices;
  }
  [[nodiscard]] std::int64_t slices_written(std::int64_t step) const {
    return is_first(step) ? 1 : spec_.cut.hidden_1_slices;
  }
  void add_input_group(std::int64_t i);
  [[nodiscard]] ForwardNode add_forward_tasks(std::int64_t step);
  [[nodiscard]] ForwardNode add_whole_forward_task(std::int64_t step);
  [[nodiscard]] std::int64_t forward_key() const { return static_cast<std::int64_t>(recomputed_); }
  [[nodiscard]] Kernel last_forward_kernel() const;
  [[nodiscard]] Kernel residual_kernel() const;
  void add_forward_edges(std::int64_t step, const ForwardNode& node);
  void add_forward_tensors(std::int64_t step, const ForwardNode& node);
  void add_products(std::int64_t step, const ForwardNode& node);
  void add_values(std::int64_t step, const ForwardNode& node);
  void add_state(std::int64_t step, const ForwardNode& node);

  void recompute(std::int64_t step, Recomputed what);
  void add_unfused(std::int64_t step, const ForwardNode& node);
  void read_unfused(std::int64_t step, TaskId first);

  // recurrent_backward.cpp
  [[nodiscard]] Node add_data_tasks(std::int64_t step);
  [[nodiscard]] std::int64_t data_key(std::int64_t step) const;
  [[nodiscard]] std::vector<Kernel> node_kernels(std::int64_t step) const;
  /// Of the first task of a node in two parts.
  [[nodiscard]] Kernel first_kernel(std::int64_t upstream, std::int64_t slices) const;
  [[nodiscard]] Kernel inner_gradient_kernel() const;
  [[nodiscard]] Kernel node_cell_kernel(std::int64_t upstream, std::int64_t slices) const;
  void add_candidate_tensors(std::int64_t step, const Node& node);
  void add_projection_tensors(std::int64_t step, const Node& node);
  [[nodiscard]] Kernel skip_kernel(std::int64_t upstream) const;
  void gather_output(std::int64_t step, const Node& node);
  void add_output_group();
  [[nodiscard]] TaskId add_skip(std::int64_t step, TaskId product);
  void add_data_edges(std::int64_t step, const Node& node);
  void add_data_tensors(std::int64_t step, const Node& node);
  void read_incoming(std::int64_t step, const Node& node);

  // recurrent_backward.cpp
  void add_weights(std::int64_t step, const Node& node);
  [[nodiscard]] Kernel weight_kernel(GradientIndex index, std::int64_t steps) const;
  void add_transpose_task(std::int64_t tag);
  void add_weight_task(std::int64_t step, GradientIndex index, TaskId task);
  void read_for_weights(GradientIndex index, TaskId task);

  GraphEmitter& out_;
  ChainSpec spec_;
  const RecurrentCellShape& cells_;
  std::vector<const Steps*> inputs_;
  std::vector<const Steps*> upstream_;
  const Steps* residual_ = nullptr;
  std::array<Cached, operation_count> operations_;
  TaskId input_group_;  // the input products of the last group of steps, and where they are
  TensorId input_products_;

  TensorId input_weights_;
  TensorId recurrent_weights_;
  TensorId projection_weights_;
  Value initial_h_;
  Value initial_c_;

  // Activations by step; in pass backward all steps share one persistent tensor.
  Steps outputs_;
  std::vector<TensorId> gates_;
  std::vector<TensorId> candidate_;  // n, of cells with a candidate
  std::vector<TensorId> inner_;      // what weight_3 reads: r * h before the step, of the same; or
                                     // the state before its projection
  std::vector<TensorId> c_;
  std::vector<TensorId> h_;
  std::vector<std::array<TensorId, 4>> unfused_;  // by step; keep_all: other results, zx, zh, zc
  TaskId forward_cell_;                           // of the last step emitted, where h is complete
  std::vector<TaskId> recomputed_by_;             // last, by step; none() if only the first pass
  Recomputed recomputed_ = Recomputed::nothing;   // by the forward node that is being emitted
  std::int64_t last_forward_ = 0;

  // Backward state: of the gradient node emitted last.
  Node node_;
  TensorId dh_;
  TensorId carry_;  // dc of an LSTM, the direct path of a GRU
  TensorId gate_gradient_;
  TensorId candidate_gradient_;  // or dp
  Steps dx_;
  Steps skip_;
  std::vector<GatheredNode> output_group_;
  Pending pending_;
  std::vector<GradientIndex> gradient_indices_;
  std::array<Gradient, 4> gradients_;
  std::vector<TaskId> weight_readers_;  // an update overwrites what they read
};

template <class MakeKernels>
TaskId RecurrentChain::task(std::size_t index,
                            std::int64_t key,
                            std::string_view name,
                            TaskClass task_class,
                            std::int64_t step,
                            const MakeKernels& kernels) {
  Cached& cached = operations_[index];
  if (!cached.id.valid() || cached.key != key) {
    cached = {.id = out_.operation(name, task_class, kernels()), .key = key};
  }
  return out_.task(cached.id, spec_.layer, step);
}

}  // namespace schedlab::detail
