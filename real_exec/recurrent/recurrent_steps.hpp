// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/gemm_panels.hpp"
#include "real_exec/recurrent/pointwise.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/recurrent_cells.hpp"
#include "real_exec/recurrent/recurrent_state.hpp"
#include "real_exec/recurrent/step_tensors.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::detail {

/// One block of one kernel of one task.
struct Portion {
  TaskId id{};  ///< where tensors have memory of their own
  std::size_t chain = 0;
  std::int64_t step = 0;   ///< of tasks of several steps the last in backward order
  std::int64_t steps = 1;  ///< that weight tasks sum, and that hidden_2 is of
  std::uint32_t block = 0;
  std::uint32_t blocks = 1;

  [[nodiscard]] PanelRange of(std::ptrdiff_t total) const { return share(total, block, blocks); }
};

/// Runs sub-tasks on the arrays of a RecurrentState.
class RecurrentSteps {
 public:
  RecurrentSteps(const RecurrentSpec& spec, std::uint64_t seed, bool by_tensor)
      : state_(spec, seed, by_tensor) {}

  /// Where the arrays of steps lie if not in the state; must outlive this. Their sizes are
  /// step_arrays().
  void use(const StepTensors* tensors) { tensors_ = tensors; }
  [[nodiscard]] std::vector<StepTensorMap::Chain> step_arrays() const;

  void run(SubTask task, const Portion& portion);
  void reset();
  /// Nodes of all chains in order, as one block each.
  void run_forward();

  /// RecurrentWork::train_on(), continue_from().
  void train_on(const PaddedBatch& batch) { state_.train_on(batch); }
  void continue_from(const RecurrentState& other) { state_.continue_from(other); }

  [[nodiscard]] const RecurrentState& state() const { return state_; }

 private:
  void compute(SubTask task, const Portion& portion);
  // recurrent_rounding.cpp
  /// What the sub-task has written for others, in bf16.
  void round_stored(SubTask task, const Portion& portion);
  void round_panels(float* array, const PanelRange& panels) const;
  void round_input(const Portion& portion);
  void copy_in(const Portion& portion);
  void input_gemm(ChainState& chain, const Portion& portion);
  void recurrent_gemm(ChainState& chain, const Portion& portion);
  void candidate_gemm(ChainState& chain, const Portion& portion);
  void forward_cell(SubTask task, ChainState& chain, const Portion& portion);
  /// Zero between two sequences of a row: of [rows, hidden] in panels, the portion's panels.
  void clear_breaks(float* array, const Portion& portion) const;
  /// All rows of the portion's panels.
  void clear_rows(float* array, const Portion& portion) const;
  /// The last step of a segment of truncated back-propagation, to which no gradient comes back.
  [[nodiscard]] bool ends_segment(std::int64_t step) const {
    return truncated(state_.spec) &&
           (step + 1 == state_.spec.steps || (step + 1) % segment_steps(state_.spec) == 0);
  }
  [[nodiscard]] std::int64_t first_of_segment(std::int64_t step) const {
    return step - step % segment_steps(state_.spec);
  }
  void loss(const Portion& portion);
  void loss_of(const SquaredError& panel, std::int64_t step) const;
  void backward_cell(SubTask task, ChainState& chain, const Portion& portion);
  void candidate_hidden(ChainState& chain, const Portion& portion);
  void projection_gemm(ChainState& chain, const Portion& portion);
  void projection_sum(ChainState& chain, const Portion& portion);
  void projection_hidden(ChainState& chain, const Portion& portion);
  void hidden_1(ChainState& chain, const Portion& portion);
  void hidden_2(ChainState& chain, const Portion& portion);
  void weight(SubTask task, ChainState& chain, const Portion& portion);
  void bias(ChainState& chain, const Portion& portion);
  void reduce(SubTask task, ChainState& chain, const Portion& portion) const;
  void update(ChainState& chain, const Portion& portion) const;

  [[nodiscard]] std::ptrdiff_t gate_panels(std::int64_t gates) const {
    return gates * state_.hidden / 16;
  }
  /// Of h of one direction.
  [[nodiscard]] std::ptrdiff_t output_panels() const { return state_.output / 16; }
  // Arrays of a step, by the task that `portion` is part of.
  [[nodiscard]] float* gates(ChainState& chain, const Portion& portion) const;
  [[nodiscard]] float* gate_gradients(ChainState& chain,
                                      const Portion& portion,
                                      std::int64_t step) const;
  [[nodiscard]] float* products(ChainState& chain, const Portion& portion) const;
  [[nodiscard]] float* recurrent_products(ChainState& chain, const Portion& portion) const;
  [[nodiscard]] float* h(const ChainState& chain, const Portion& portion, std::int64_t step);
  [[nodiscard]] float* c(ChainState& chain, const Portion& portion, std::int64_t step) const;
  [[nodiscard]] const float* input(const ChainState& chain,
                                   const Portion& portion,
                                   std::int64_t step) const;
  /// The gradient of the outputs from a step on, as far as its segment reaches.
  [[nodiscard]] float* dy(const Portion& portion, std::int64_t step);
  [[nodiscard]] float* dx(ChainState& chain, const Portion& portion) const;
  [[nodiscard]] float* own(StepTensor kind,
                           const ChainState& chain,
                           const Portion& portion,
                           std::int64_t step) const;
  /// r * h of the step, or o * tanh(c) before its projection; and the gradient of that.
  [[nodiscard]] float* inner(ChainState& chain, const Portion& portion, std::int64_t step) const;
  [[nodiscard]] float* inner_gradient(ChainState& chain, const Portion& portion) const;
  [[nodiscard]] float* projected_gradient(ChainState& chain,
                                          const Portion& portion,
                                          std::int64_t step) const;
  /// Gradients of h of the step from above, and how many there are.
  [[nodiscard]] int upstream_gradients(const ChainState& chain,
                                       const Portion& portion,
                                       std::array<const float*, 2>& upstream);
  [[nodiscard]] std::ptrdiff_t gate_gradient_step() const { return state_.gate_gradient_step(); }
  /// The step that a task of several takes first, which is that of its sum, and what one step on
  /// adds to the step.
  [[nodiscard]] static std::int64_t first_summed(const ChainState& chain, const Portion& portion);
  [[nodiscard]] static std::int64_t summed_direction(const ChainState& chain) {
    return chain.direction == 1 ? 1 : -1;
  }
  /// No constant distance lies between the arrays of the steps that are summed.
  [[nodiscard]] bool steps_apart(const Portion& portion) const {
    return tensors_ != nullptr && portion.steps > 1;
  }
  /// The same as one portion per step, in the same order. Of a task that sums several steps: there
  /// is one buffer then.
  [[nodiscard]] static std::vector<Portion> single_steps(const ChainState& chain,
                                                         const Portion& portion);
  [[nodiscard]] static std::size_t buffer(const ChainState& chain, const Portion& portion);

  RecurrentState state_;
  const StepTensors* tensors_ = nullptr;
  std::atomic<std::uint32_t> loss_blocks_{0};  ///< that have ended
};

}  // namespace schedlab::detail
