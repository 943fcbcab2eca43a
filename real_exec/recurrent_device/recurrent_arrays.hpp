// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "sim/base/units.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab::detail {

using LowArray = NetworkArray<Bf16>;

/// A matrix in fp32, or in bf16 where products read that; the other array is empty.
struct StoredArray {
  NetworkArray<float> full;
  LowArray low;

  /// Elements from `at` on; nullptr in the type in which it is not stored.
  [[nodiscard]] float* full_at(std::int64_t at) const {
    return full.empty() ? nullptr : full.data() + at;
  }
  [[nodiscard]] Bf16* low_at(std::int64_t at) const {
    return low.empty() ? nullptr : low.data() + at;
  }
  [[nodiscard]] std::size_t bytes() const { return full.bytes() + low.bytes(); }
};

/// One chain's arrays on a device, plain matrices by step; gates ordered as kernel_arguments.hpp
/// says. Of weights `..._low` are copies in bf16 that products read; else empty.
struct DeviceChain {
  ChainPlace place;

  NetworkArray<float> wx, wh, bias, wp;  ///< [width or output][gates]; [hidden][output]
  NetworkArray<float> wx_first, wh_first, bias_first, wp_first;          ///< as given
  NetworkArray<float> wx_moments, wh_moments, bias_moments, wp_moments;  ///< adam: m, then v
  LowArray wx_low, wh_low, wp_low;

  StoredArray gates;                          ///< [steps][batch][saved]: zx, then the activations
  NetworkArray<float> zh;                     ///< [batch][gates]
  NetworkArray<float> c;                      ///< [steps + 2][batch][hidden]: one before, one after
  StoredArray reset;                          ///< [steps][batch][hidden]: r * h, or o * tanh(c)
                                              ///< before its projection
  StoredArray projected_gradients;            ///< [steps][batch][output]: dp, the gradient of h
  StoredArray gate_gradients;                 ///< [steps][batch][gate gradients]
  NetworkArray<float> dh;                     ///< [slices][batch][output]
  NetworkArray<float> carry, reset_gradient;  ///< [batch][hidden]
  NetworkArray<float> h_first;                ///< bf16: h before the first step
  NetworkArray<float> dh_last, carry_last;    ///< what dh and carry start from
  StoredArray dx;                             ///< [steps][batch][width]

  /// Transposed copies (RecurrentSpec::k_major) of the input, of h before each step and of the gate
  /// gradients: [columns][steps * batch].
  StoredArray input_copy, state_copy, gate_gradient_copy;

  NetworkArray<float> dwx, dwh, dbias, dwp;  ///< [buffers], the first gets the result
};

/// All arrays of a recurrent network on a device, and the way of values there and back. Everything
/// has happened when a member returns.
class RecurrentArrays {
 public:
  /// `by_tensor`: h, c, gates, products, dG, dx and dy have memory of their own elsewhere, but for
  /// initial states and the dx of layer 0. Not of cells with a candidate, nor in bf16.
  RecurrentArrays(std::shared_ptr<RecurrentDevice> on,
                  const RecurrentSpec& given,
                  RecurrentInputs<float> values,
                  ProductPrecision precision,
                  bool by_tensor);

  /// As of RecurrentState, of what the device was asked for.
  [[nodiscard]] Bytes tensor_bytes() const;
  [[nodiscard]] Bytes workspace_bytes() const;
  /// As of RecurrentWork.
  void train_on(const PaddedBatch& batch);
  void continue_from(const RecurrentArrays& other);

  /// What accumulates, and what a run overwrites, as it was at first. All else that tasks write is
  /// NaN, so that what is read before it is written is seen.
  void reset();
  /// From now on reset() keeps what the forward pass has left: pass backward starts from it.
  void keep_forward() { forward_kept_ = true; }
  [[nodiscard]] RecurrentResults<float> results() const;
  /// Loss of the last run; pass training.
  [[nodiscard]] float loss_value() const;

  [[nodiscard]] bool low() const { return precision == ProductPrecision::bf16; }
  [[nodiscard]] std::int64_t directions(std::int64_t layer) const;
  /// The step before in the chain's direction; -1 or steps: the initial state.
  [[nodiscard]] static std::int64_t before(const ChainPlace& place, std::int64_t step) {
    return place.direction == 1 ? step + 1 : step - 1;
  }
  [[nodiscard]] std::int64_t first_step(const ChainPlace& place) const {
    return place.direction == 1 ? spec.steps - 1 : 0;
  }
  /// Columns of what is saved of a step's gates.
  [[nodiscard]] std::int64_t saved_columns() const {
    return (spec.cell == RecurrentCell::gru ? 4 : shape.gates) * spec.hidden;
  }
  [[nodiscard]] bool projected() const { return spec.projection > 0; }
  /// Columns of h of one direction, and of y of a layer.
  [[nodiscard]] std::int64_t output() const { return output_width(spec); }
  [[nodiscard]] std::int64_t y_columns(std::int64_t layer) const {
    return directions(layer) * output();
  }
  /// Elements in front of h(step) in y of the chain's layer; step -1 and steps too. By tensors the
  /// initial one alone, as of c.
  [[nodiscard]] std::int64_t h_offset(const ChainPlace& place, std::int64_t step) const {
    return (by_tensor ? 0 : step + 1) * spec.batch * y_columns(place.layer) +
           place.direction * output();
  }
  [[nodiscard]] std::int64_t c_offset(std::int64_t step) const {
    return (by_tensor ? 0 : step + 1) * spec.batch * spec.hidden;
  }

  std::shared_ptr<RecurrentDevice> device;
  RecurrentSpec spec;  ///< input is never 0
  const RecurrentCellShape& shape;
  ProductPrecision precision;
  bool by_tensor;
  std::vector<DeviceChain> chains;
  std::vector<std::vector<std::size_t>> layers;  ///< chains of each layer, the forward one first
  RecurrentInputs<float> inputs;
  NetworkArray<float> x;           ///< [steps][batch][input]
  LowArray x_low;                  ///< a copy
  std::vector<StoredArray> y;      ///< by layer: [steps + 2][batch][directions * output]
  NetworkArray<float> dy, target;  ///< [steps][batch][directions * output] of the top layer
  NetworkArray<double> loss_scratch;
  NetworkArray<float> loss;
  NetworkArray<float> x_host;               ///< what transfer_in copies from
  std::vector<float> x_pageable;            ///< the same, if the spec says that it is pageable
  NetworkArray<float> loss_host;            ///< what transfer_out copies to
  NetworkArray<const float*> y_steps_host;  ///< by tensors: where each step of the outputs lies
  NetworkArray<const float*> y_steps;
  NetworkArray<int> lengths;  ///< by row, of padded sequences; empty: all have all steps
  float loss_scale;           ///< of the gradient of the loss
  double loss_divisor;        ///< the loss is half the sum of squares over this
  std::size_t buffers = 1;    ///< of weight gradients

 private:
  void add_chain(const ChainPlace& place);
  void allocate_steps(DeviceChain& chain) const;
  void allocate_outputs();
  [[nodiscard]] StoredArray stored(std::int64_t elements) const;
  void allocate_copies(DeviceChain& chain) const;
  void set_initial_state(const DeviceChain& chain, const RecurrentChainInputs<float>& given);
  void copy_inputs();
  void copy_x();
  void copy_chain_inputs(DeviceChain& chain, const RecurrentChainInputs<float>& given);
  void poison();
  [[nodiscard]] RecurrentChainResults<float> chain_results(const DeviceChain& chain) const;
  [[nodiscard]] std::vector<int> wx_order() const;
  [[nodiscard]] std::vector<int> bias_order() const;

  bool forward_kept_ = false;
};

}  // namespace schedlab::detail
