// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/gemm_panels.hpp"
#include "real_exec/recurrent_state.hpp"
#include "sim/graph/task.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// What one kernel of a recurrent graph computes.
enum class SubTask : std::uint8_t {
  transfer_in,
  input_gemm,
  recurrent_gemm,
  gates_forward,
  candidate_gemm,
  cell_forward,
  loss,
  candidate_cell,
  candidate_hidden,
  cell,
  hidden_1,
  hidden_2,
  weight_1,
  weight_2,
  weight_3,
  bias,
  reduce_1,
  reduce_2,
  reduce_3,
  reduce_bias,
  update,
  transfer_out,
};

/// The kernels of the operation of this name, in the order of the graph; empty: no such operation.
[[nodiscard]] std::vector<SubTask> sub_tasks_of(std::string_view operation, RecurrentCell cell);

/// One block of one kernel of one task.
struct Portion {
  std::size_t chain = 0;
  std::int64_t step = 0;   ///< of weight tasks the last in backward order
  std::int64_t steps = 1;  ///< of weight tasks: that are summed
  std::uint32_t block = 0;
  std::uint32_t blocks = 1;

  [[nodiscard]] PanelRange of(std::ptrdiff_t total) const { return share(total, block, blocks); }
};

/// Runs sub-tasks on the arrays of a RecurrentState.
class RecurrentSteps {
 public:
  RecurrentSteps(const RecurrentSpec& spec, std::uint64_t seed) : state_(spec, seed) {}

  void run(SubTask task, const Portion& portion);
  void reset();
  /// Nodes of all chains in order, as one block each.
  void run_forward();

  [[nodiscard]] const RecurrentState& state() const { return state_; }
  /// Steps whose weight gradients a kernel sums, by its size; 1 for other sub-tasks.
  [[nodiscard]] std::int64_t steps_summed(SubTask task, const Kernel& kernel) const;
  /// The kernel that the workload makes for the sub-task; its grid is not set.
  [[nodiscard]] Kernel expected(SubTask task, std::size_t index, std::int64_t steps) const;

 private:
  void copy_in(const Portion& portion);
  void input_gemm(ChainState& chain, const Portion& portion);
  void recurrent_gemm(ChainState& chain, const Portion& portion);
  void candidate_gemm(ChainState& chain, const Portion& portion);
  void forward_cell(SubTask task, ChainState& chain, const Portion& portion);
  void loss(const Portion& portion);
  void backward_cell(SubTask task, ChainState& chain, const Portion& portion);
  void candidate_hidden(ChainState& chain, const Portion& portion);
  void hidden_1(ChainState& chain, const Portion& portion);
  void hidden_2(ChainState& chain, const Portion& portion);
  void weight(SubTask task, ChainState& chain, const Portion& portion);
  void bias(ChainState& chain, const Portion& portion);
  void reduce(SubTask task, ChainState& chain, const Portion& portion);
  void update(ChainState& chain, const Portion& portion) const;

  [[nodiscard]] bool bias_apart() const { return state_.spec.granularity == Granularity::matmul; }
  [[nodiscard]] RecurrentShape shape_of(const ChainState& chain) const;
  [[nodiscard]] std::ptrdiff_t gate_panels(std::int64_t gates) const {
    return gates * state_.hidden / 16;
  }
  /// Activations and gate gradients of a step.
  [[nodiscard]] float* gates(ChainState& chain, std::int64_t step) const;
  [[nodiscard]] float* gate_gradients(ChainState& chain, std::int64_t step) const;
  [[nodiscard]] std::ptrdiff_t gate_gradient_step() const { return state_.gate_gradient_step(); }
  /// The step that comes first in the sum of a weight task, and what one step on adds to the step.
  [[nodiscard]] static std::int64_t first_summed(const ChainState& chain, const Portion& portion);
  [[nodiscard]] static std::int64_t summed_direction(const ChainState& chain) {
    return chain.direction == 1 ? 1 : -1;
  }
  [[nodiscard]] static std::size_t buffer(const ChainState& chain, const Portion& portion);

  RecurrentState state_;
  std::atomic<std::uint32_t> loss_blocks_{0};  ///< that have ended
};

}  // namespace schedlab::detail
