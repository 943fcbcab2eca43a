// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/recurrent_arrays.hpp"

#include "real_exec/cuda/array_kernels.hpp"
#include "real_exec/recurrent/initial_gradients.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace schedlab::detail {
namespace {

std::size_t count(std::int64_t elements) {
  return static_cast<std::size_t>(elements);
}

void to_device(const std::vector<float>& from, float* to) {
  check_cuda(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice),
             "cudaMemcpy to the device");
}

std::vector<float> from_device(const float* from, std::int64_t elements) {
  std::vector<float> values(count(elements));
  check_cuda(cudaMemcpy(values.data(), from, values.size() * sizeof(float), cudaMemcpyDeviceToHost),
             "cudaMemcpy from the device");
  return values;
}

void copy(const DeviceArray<float>& from, const DeviceArray<float>& to) {
  if (from.empty()) return;
  check_cuda(cudaMemcpy(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice),
             "cudaMemcpy on the device");
}

template <class T>
void fill_bytes(T* from, std::size_t elements, int byte) {
  if (elements == 0) return;
  check_cuda(cudaMemset(from, byte, elements * sizeof(T)), "cudaMemset");
}

constexpr int nan_byte = 0xFF;  // of all ones fp32, fp64 and bf16 make a NaN

template <class T>
void poison_array(const DeviceArray<T>& array) {
  fill_bytes(array.data(), array.size(), nan_byte);
}

void round_array(const DeviceArray<float>& from, const LowArray& to) {
  if (to.empty()) return;
  round_to_bf16(from.data(), to.data(), static_cast<long long>(from.size()), nullptr);
}

std::vector<int> in_order(std::int64_t blocks) {
  std::vector<int> places(count(blocks));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// Rows of blocks of columns: block b of the outside is block places[b] inside.
std::vector<float> permuted(const std::vector<float>& from,
                            const std::vector<int>& places,
                            std::int64_t block,
                            bool inwards) {
  std::vector<float> to(from.size());
  const auto width = count(block);
  const std::size_t columns = places.size() * width;
  for (std::size_t row = 0; row < from.size() / columns; ++row) {
    for (std::size_t b = 0; b < places.size(); ++b) {
      const std::size_t outside = row * columns + b * width;
      const std::size_t inside = row * columns + count(places[b]) * width;
      const auto source = from.begin() + static_cast<std::ptrdiff_t>(inwards ? outside : inside);
      std::copy_n(
          source, width, to.begin() + static_cast<std::ptrdiff_t>(inwards ? inside : outside));
    }
  }
  return to;
}

}  // namespace

RecurrentArrays::RecurrentArrays(const RecurrentSpec& given,
                                 std::uint64_t seed,
                                 CudaPrecision arithmetic,
                                 bool tensors_apart)
    : spec(given),
      shape(cell_shape(given.cell)),
      precision(arithmetic),
      by_tensor(tensors_apart),
      loss_scale(1.0F / static_cast<float>(given.batch)),
      loss_divisor(static_cast<double>(given.batch)),
      buffers(gradient_buffers(given)) {
  if (spec.input == 0) spec.input = spec.hidden;
  for (const ChainPlace& place : chain_places(spec)) add_chain(place);
  const std::int64_t x_elements = spec.steps * spec.batch * spec.input;
  x = DeviceArray<float>(count(x_elements));
  x_low = LowArray(low() ? x.size() : 0);
  allocate_outputs();
  inputs = draw_recurrent_inputs(spec, seed);
  copy_inputs();
  reset();
}

void RecurrentArrays::allocate_outputs() {
  const std::int64_t slots = by_tensor ? 1 : spec.steps + 2;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::size_t elements = count(slots * spec.batch * y_columns(layer));
    y.emplace_back(elements);
    y_low.emplace_back(low() ? elements : 0);
  }
  const std::int64_t outputs = spec.steps * spec.batch * y_columns(spec.layers - 1);
  if (spec.pass != RecurrentPass::forward && !by_tensor) dy = DeviceArray<float>(count(outputs));
  if (spec.pass == RecurrentPass::training) {
    target = DeviceArray<float>(count(outputs));
    loss_scratch = DeviceArray<double>(count(loss_parts));
    loss = DeviceArray<float>(1);
  }
  if (by_tensor) {
    y_steps = DeviceArray<const float*>(count(spec.steps));
    y_steps_host = PinnedArray<const float*>(count(spec.steps));
  }
  loss_host = PinnedArray<float>(1);
}

std::int64_t RecurrentArrays::directions(std::int64_t layer) const {
  return layer_directions(spec, layer);
}

std::vector<int> RecurrentArrays::wx_order() const {
  return spec.cell == RecurrentCell::lstm ? in_order(shape.gates) : std::vector<int>{1, 2, 0};
}

std::vector<int> RecurrentArrays::bias_order() const {
  if (spec.cell == RecurrentCell::lstm) return in_order(shape.biases);
  if (spec.cell == RecurrentCell::gru) return {1, 2, 0, 3};
  return {1, 2, 0};
}

void RecurrentArrays::add_chain(const ChainPlace& place) {
  if (static_cast<std::int64_t>(layers.size()) <= place.layer) layers.emplace_back();
  layers.back().push_back(chains.size());
  DeviceChain& chain = chains.emplace_back();
  chain.place = place;
  const bool training = spec.pass == RecurrentPass::training;
  const bool adam = training && spec.optimizer == Optimizer::adam;
  const bool backward = spec.pass != RecurrentPass::forward;
  const std::int64_t cell = spec.batch * spec.hidden;
  const std::size_t wx = count(place.width * shape.gates * spec.hidden);
  const std::size_t wh = count(spec.hidden * shape.gates * spec.hidden);
  const std::size_t biases = count(shape.biases * spec.hidden);
  const auto sized = [](DeviceArray<float>& array, std::size_t size, bool used = true) {
    array = DeviceArray<float>(used ? size : 0);
  };
  sized(chain.wx, wx);
  sized(chain.wh, wh);
  sized(chain.bias, biases);
  sized(chain.wx_first, wx, training);
  sized(chain.wh_first, wh, training);
  sized(chain.bias_first, biases, training);
  sized(chain.wx_moments, 2 * wx, adam);
  sized(chain.wh_moments, 2 * wh, adam);
  sized(chain.bias_moments, 2 * biases, adam);
  allocate_steps(chain);
  for (auto* array : {&chain.dh, &chain.carry, &chain.dh_last, &chain.carry_last}) {
    sized(*array, count(cell), backward);
  }
  sized(chain.dwx, buffers * wx, backward);
  sized(chain.dwh, buffers * wh, backward);
  sized(chain.dbias, buffers * biases, backward);
  if (!low()) return;
  chain.wx_low = LowArray(chain.wx.size());
  chain.wh_low = LowArray(chain.wh.size());
  chain.reset_low = LowArray(chain.reset.size());
  chain.gate_gradients_low = LowArray(chain.gate_gradients.size());
}

void RecurrentArrays::allocate_steps(DeviceChain& chain) const {
  const bool backward = spec.pass != RecurrentPass::forward;
  const bool candidate = shape.candidate_gates > 0;
  const std::int64_t cell = spec.batch * spec.hidden;
  const auto sized = [](DeviceArray<float>& array, std::int64_t size, bool used) {
    array = DeviceArray<float>(used ? count(size) : 0);
  };
  const bool one_task =
      spec.granularity == Granularity::coarse || spec.granularity == Granularity::data_and_weight;
  sized(chain.gates, spec.steps * spec.batch * saved_columns(), !by_tensor);
  // In whole nodes the products live only inside the task.
  sized(chain.zh, shape.gates * cell, !by_tensor || one_task);
  sized(chain.c, (by_tensor ? 1 : spec.steps + 2) * cell, shape.cell_state);
  sized(chain.reset, spec.steps * cell, candidate);
  sized(chain.reset_gradient, cell, backward && candidate);
  sized(chain.gate_gradients, spec.steps * shape.gate_gradients * cell, backward && !by_tensor);
  sized(chain.dx,
        spec.steps * spec.batch * chain.place.width,
        backward && (!by_tensor || chain.place.layer == 0));
}

void RecurrentArrays::copy_inputs() {
  copy_x();
  if (!inputs.dy.empty()) to_device(inputs.dy, dy.data());
  if (!inputs.target.empty()) to_device(inputs.target, target.data());
  for (std::size_t i = 0; i < chains.size(); ++i) copy_chain_inputs(chains[i], inputs.chains[i]);
}

/// For the task transfer_in; at the same address every time.
void RecurrentArrays::copy_x() {
  if (spec.pageable) {
    x_pageable.resize(inputs.x.size());
    std::copy(inputs.x.begin(), inputs.x.end(), x_pageable.begin());
  } else {
    if (x_host.size() == 0) x_host = PinnedArray<float>(inputs.x.size());
    std::copy(inputs.x.begin(), inputs.x.end(), x_host.data());
  }
}

void RecurrentArrays::copy_chain_inputs(DeviceChain& chain,
                                        const RecurrentChainInputs<float>& given) {
  to_device(permuted(given.wx, wx_order(), spec.hidden, true), chain.wx.data());
  to_device(given.wh, chain.wh.data());
  to_device(permuted(given.bias, bias_order(), spec.hidden, true), chain.bias.data());
  if (spec.pass == RecurrentPass::training) {
    copy(chain.wx, chain.wx_first);
    copy(chain.wh, chain.wh_first);
    copy(chain.bias, chain.bias_first);
  }
  if (spec.pass == RecurrentPass::forward) return;
  to_device(given.dh_last, chain.dh_last.data());
  if (shape.cell_state) {
    to_device(given.dc_last, chain.carry_last.data());
  } else {
    fill_bytes(chain.carry_last.data(), chain.carry_last.size(), 0);
  }
}

/// Everything that tasks write.
void RecurrentArrays::poison() {
  for (DeviceChain& chain : chains) {
    if (!forward_kept_) {
      for (const auto* array : {&chain.gates, &chain.zh, &chain.c, &chain.reset}) {
        poison_array(*array);
      }
      poison_array(chain.reset_low);
    }
    for (const auto* array : {&chain.gate_gradients, &chain.reset_gradient, &chain.dx}) {
      poison_array(*array);
    }
    poison_array(chain.gate_gradients_low);
  }
  if (!forward_kept_) {
    for (const auto& array : y) poison_array(array);
    for (const auto& array : y_low) poison_array(array);
    poison_array(x);
    poison_array(x_low);
  }
  if (spec.pass == RecurrentPass::training) poison_array(dy);
  poison_array(y_steps);
  poison_array(loss);
  poison_array(loss_scratch);
}

void RecurrentArrays::reset() {
  poison();
  *loss_host.data() = 0.0F;
  // Else the task transfer_in does it.
  const bool given_x = spec.pass != RecurrentPass::training || !spec.transfers;
  if (given_x) {
    to_device(inputs.x, x.data());
    round_array(x, x_low);
  }
  const auto row_bytes = count(spec.hidden) * sizeof(float);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    DeviceChain& chain = chains[i];
    const RecurrentChainInputs<float>& given = inputs.chains[i];
    if (spec.pass == RecurrentPass::training) {
      copy(chain.wx_first, chain.wx);
      copy(chain.wh_first, chain.wh);
      copy(chain.bias_first, chain.bias);
    }
    round_array(chain.wx, chain.wx_low);
    round_array(chain.wh, chain.wh_low);
    for (auto* array : {&chain.wx_moments,
                        &chain.wh_moments,
                        &chain.bias_moments,
                        &chain.dwx,
                        &chain.dwh,
                        &chain.dbias}) {
      fill_bytes(array->data(), array->size(), 0);
    }
    copy(chain.dh_last, chain.dh);
    copy(chain.carry_last, chain.carry);
    const std::int64_t initial = before(chain.place, first_step(chain.place));
    const auto layer = count(chain.place.layer);
    const std::int64_t at = h_offset(chain.place, initial);
    const std::size_t pitch = count(y_columns(chain.place.layer)) * sizeof(float);
    check_cuda(cudaMemcpy2D(y[layer].data() + at,
                            pitch,
                            given.h0.data(),
                            row_bytes,
                            row_bytes,
                            count(spec.batch),
                            cudaMemcpyHostToDevice),
               "cudaMemcpy2D to the device");
    if (shape.cell_state) {
      to_device(given.c0, chain.c.data() + c_offset(initial));
    }
  }
  // Initial states lie between values that are NaN still, which rounding keeps.
  for (std::size_t layer = 0; layer < y.size(); ++layer) {
    if (!forward_kept_) round_array(y[layer], y_low[layer]);
  }
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

RecurrentChainResults<float> RecurrentArrays::chain_results(const DeviceChain& chain) const {
  const std::int64_t gates = shape.gates * spec.hidden;
  const std::int64_t wx_size = chain.place.width * gates;
  const std::int64_t wh_size = spec.hidden * gates;
  const std::int64_t biases = shape.biases * spec.hidden;
  const auto outside = [&](const float* from, std::int64_t size, const std::vector<int>& order) {
    return permuted(from_device(from, size), order, spec.hidden, false);
  };
  RecurrentChainResults<float> results;
  results.wx = outside(chain.wx.data(), wx_size, wx_order());
  results.wh = from_device(chain.wh.data(), wh_size);
  results.bias = outside(chain.bias.data(), biases, bias_order());
  if (spec.pass == RecurrentPass::forward) return results;
  results.dwx = outside(chain.dwx.data(), wx_size, wx_order());
  results.dwh = from_device(chain.dwh.data(), wh_size);
  results.dbias = outside(chain.dbias.data(), biases, bias_order());
  const std::int64_t cell = spec.batch * spec.hidden;
  set_initial_gradients(results,
                        from_device(chain.dh.data(), cell),
                        from_device(chain.carry.data(), cell),
                        shape.cell_state);
  return results;
}

float RecurrentArrays::loss_value() const {
  return spec.transfers ? *loss_host.data() : from_device(loss.data(), 1).front();
}

RecurrentResults<float> RecurrentArrays::results() const {
  RecurrentResults<float> results;
  if (spec.pass == RecurrentPass::training) {
    results.loss = loss_value();
  }
  for (const DeviceChain& chain : chains) results.chains.push_back(chain_results(chain));
  const std::int64_t step = spec.batch * y_columns(spec.layers - 1);
  if (by_tensor) {
    results.y.assign(count(spec.steps * step), 0.0F);
  } else {
    results.y = from_device(y.back().data() + step, spec.steps * step);
  }
  if (spec.pass == RecurrentPass::forward) return results;
  const std::int64_t x_elements = spec.steps * spec.batch * spec.input;
  results.dx.assign(count(x_elements), 0.0F);
  for (const std::size_t index : layers.front()) {
    const std::vector<float> part = from_device(chains[index].dx.data(), x_elements);
    std::transform(part.begin(), part.end(), results.dx.begin(), results.dx.begin(), std::plus<>{});
  }
  return results;
}

}  // namespace schedlab::detail
