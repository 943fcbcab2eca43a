// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::detail {

[[nodiscard]] void* allocate_lines(std::size_t bytes);
void free_lines(void* memory, std::size_t bytes);

/// Memory at multiples of a cache line; large arrays in huge pages where the system has them, as
/// their panels lie on many pages.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  explicit LineAllocator(const LineAllocator<Other>& /*other*/) {}
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(allocate_lines(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) { free_lines(memory, count * sizeof(T)); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) = default;
};
/// Zero at the start.
using PanelArray = std::vector<float, LineAllocator<float>>;

/// A matrix X[rows, columns] of the outside as it lies in panels: padded rows, and blocks of
/// columns that are padded one by one and may change places.
struct PanelMap {
  std::ptrdiff_t rows = 0;             ///< outside
  std::ptrdiff_t row_block = 0;        ///< rows are padded in blocks of so many; 0: not padded
  std::ptrdiff_t block = 0;            ///< columns of a block, outside
  std::vector<std::ptrdiff_t> places;  ///< of each block outside, its number inside

  [[nodiscard]] std::ptrdiff_t padded_rows() const;
  [[nodiscard]] std::ptrdiff_t padded_columns() const;
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(padded_rows() * padded_columns());
  }
  void pack(const float* plain, float* panels) const;
  void unpack(const float* panels, float* plain) const;

 private:
  template <class Visit>
  void for_each_row(const Visit& visit) const;
};

[[nodiscard]] constexpr std::ptrdiff_t padded(std::ptrdiff_t size) {
  return (size + 15) / 16 * 16;
}

/// Where the gradients of one chain are summed; [0] of each is the result.
struct GradientBuffers {
  std::vector<PanelArray> wx;
  std::vector<PanelArray> wh;
  std::vector<PanelArray> bias;
  std::vector<PanelArray> wp;  ///< empty arrays without projection
};

/// One chain's arrays, in panels, gates ordered as recurrent_cells.hpp says.
struct ChainState {
  std::int64_t layer = 0;
  std::int64_t direction = 0;  ///< 1: from the last step to the first
  std::ptrdiff_t width = 0;    ///< padded
  PanelMap wx_map;
  PanelMap wh_map;
  PanelMap bias_map;
  PanelMap wp_map;  ///< of no elements without projection, as the arrays of wp

  PanelArray wx, wx_transposed, wh, wh_transposed, bias, wp, wp_transposed;
  PanelArray wx_low, wh_low, wp_low;  ///< data type bf16: rounded, as the transposed ones are
  PanelArray wx_first, wh_first, bias_first, wp_first;  ///< pass training: before the update
  PanelArray wx_moments, wh_moments, bias_moments, wp_moments;  ///< adam: m, then v

  PanelArray gates;  ///< by step: zx, then the activations, of training then dG
  PanelArray zh;
  PanelArray c;                    ///< by step, with a slot before the first and one after the last
  PanelArray reset;                ///< by step: r * h, or o * tanh(c) before its projection
  PanelArray projected_gradients;  ///< by step: dp, the gradient of h
  PanelArray gate_gradients;       ///< by step; empty where dG replaces the activations
  PanelArray dh, carry, reset_gradient;
  PanelArray dh_last, carry_last;  ///< what dh and carry start from
  PanelArray dx;                   ///< by step
  GradientBuffers gradients;
};

/// All arrays of a run.
class RecurrentState {
 public:
  /// `by_tensor`: h, c, gates, products, dG, dx and dy have memory of their own elsewhere
  /// (StepTensors), but for initial states and the dx of layer 0. Not of cells with a candidate.
  RecurrentState(const RecurrentSpec& given, std::uint64_t seed, bool by_tensor);

  /// Bytes of all arrays here: of tensors of the graph, and of what only these kernels need
  /// (transposed weights, first values for the next run, inputs as they were drawn).
  [[nodiscard]] Bytes tensor_bytes() const;
  [[nodiscard]] Bytes workspace_bytes() const;

  /// As of RecurrentWork.
  void train_on(const PaddedBatch& batch);
  void continue_from(const RecurrentState& other);

  /// What accumulates, and what a run overwrites, as it was at first.
  void reset();
  [[nodiscard]] RecurrentResults<float> results() const;

  [[nodiscard]] static bool reversed(const ChainState& chain) { return chain.direction == 1; }
  /// The step before in the chain's direction; -1 or steps: the initial state.
  [[nodiscard]] static std::int64_t before(const ChainState& chain, std::int64_t step) {
    return chain.direction == 1 ? step + 1 : step - 1;
  }
  [[nodiscard]] std::int64_t first_step(const ChainState& chain) const {
    return chain.direction == 1 ? spec.steps - 1 : 0;
  }
  /// x(step) of a chain, and elements from one step to the next.
  [[nodiscard]] const float* input(const ChainState& chain, std::int64_t step) const;
  [[nodiscard]] std::ptrdiff_t input_step(const ChainState& chain) const;
  /// h(step); step -1 and steps too. By tensors the initial one alone.
  [[nodiscard]] float* h(const ChainState& chain, std::int64_t step);
  [[nodiscard]] std::ptrdiff_t h_step(const ChainState& chain) const;
  /// c(step); by tensors the initial one alone.
  [[nodiscard]] float* c(ChainState& chain, std::int64_t step) const {
    return chain.c.data() + (by_tensor ? 0 : (step + 1) * cells());
  }
  /// Elements of [batch, hidden] in panels.
  [[nodiscard]] std::ptrdiff_t cells() const { return hidden * spec.batch; }
  /// Elements of h of one direction, [batch, output], in panels.
  [[nodiscard]] std::ptrdiff_t output_cells() const { return output * spec.batch; }
  [[nodiscard]] bool projected() const { return spec.projection > 0; }
  /// Data type bf16: x, zx, h, activations, dG, dx and the factors of products are rounded to bf16,
  /// in floats; c, its gradient, sums and the weights that are updated are fp32.
  [[nodiscard]] bool low() const { return spec.type == DataType::bf16; }
  /// Weights as products read them.
  [[nodiscard]] const float* factor(const PanelArray& full, const PanelArray& rounded) const {
    return low() ? rounded.data() : full.data();
  }
  [[nodiscard]] std::int64_t directions(std::int64_t layer) const {
    return layer_directions(spec, layer);
  }
  /// Elements of y(step) of a layer.
  // Steps of y, x and dG lie an odd number of panels apart: at powers of two the steps of one sum
  // would share few lines of the first-level cache. By tensors no sum takes several steps.
  [[nodiscard]] std::ptrdiff_t panel() const { return by_tensor ? 0 : 16 * spec.batch; }
  [[nodiscard]] std::ptrdiff_t y_step(std::int64_t layer) const {
    return layer_step(layer) + panel();
  }
  [[nodiscard]] std::ptrdiff_t gate_gradient_step() const {
    return shape.gate_gradients * cells() + 3 * panel();
  }
  /// dG of a step is written over its activations, which nothing reads after: memory that the
  /// caches need not hold twice. Not where a run is repeated without its forward pass.
  [[nodiscard]] bool gradients_replace_gates() const {
    return spec.pass == RecurrentPass::training && !by_tensor;
  }
  [[nodiscard]] std::ptrdiff_t layer_step(std::int64_t layer) const {
    return directions(layer) * output_cells();
  }

  RecurrentSpec spec;  ///< input is never 0
  bool by_tensor;
  const RecurrentCellShape& shape;
  std::ptrdiff_t hidden;  ///< padded
  std::ptrdiff_t output;  ///< width of h, padded
  std::vector<ChainState> chains;
  std::vector<std::vector<std::size_t>> layers;  ///< chains of each layer, the forward one first
  RecurrentInputs<float> inputs;
  PanelArray x;
  std::vector<PanelArray> y;  ///< by layer and step, with a slot before and one after
  PanelArray dy;              ///< of the top layer, by step
  PanelArray target;
  PanelArray loss_parts;  ///< by step, panel of y and lane
  float loss = 0;
  float returned_loss = 0;            ///< after transfer_out
  std::vector<std::int64_t> lengths;  ///< by row, of padded sequences; empty: all have all steps
  /// By step the rows where the state is zero, between two sequences; empty: none.
  std::vector<std::vector<std::ptrdiff_t>> breaks;
  float loss_scale;     ///< of the gradient of the loss
  double loss_divisor;  ///< the loss is half the sum of squares over this

 private:
  void add_chain(std::int64_t layer, std::int64_t direction);
  void allocate_steps(ChainState& chain) const;
  void pack_inputs();
  void pack_x();
  void pack_target();
  void find_breaks(const PaddedBatch& batch);
  [[nodiscard]] RecurrentChainResults<float> chain_results(const ChainState& chain) const;
};

/// Panels of y(step) of a layer <-> plain [batch, directions * output].
[[nodiscard]] PanelMap output_map(const RecurrentState& state, std::int64_t layer);

}  // namespace schedlab::detail
