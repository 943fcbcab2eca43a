// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent_device/recurrent_arrays.hpp"

#include "real_exec/recurrent/bf16.hpp"
#include "real_exec/recurrent/initial_gradients.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace schedlab::detail {
namespace {

std::size_t count(std::int64_t elements) {
  return static_cast<std::size_t>(elements);
}

void upload(RecurrentDevice& device, const std::vector<float>& from, float* to) {
  device.upload(to, from.data(), from.size() * sizeof(float));
}

std::vector<float> download(RecurrentDevice& device, const float* from, std::int64_t elements) {
  std::vector<float> values(count(elements));
  device.download(values.data(), from, values.size() * sizeof(float));
  return values;
}

std::vector<float> download(RecurrentDevice& device,
                            const StoredArray& from,
                            std::int64_t at,
                            std::int64_t elements) {
  if (from.low.empty()) return download(device, from.full_at(at), elements);
  std::vector<Bf16> low(count(elements));
  device.download(low.data(), from.low_at(at), low.size() * sizeof(Bf16));
  std::vector<float> values(low.size());
  std::transform(
      low.begin(), low.end(), values.begin(), [](Bf16 value) { return from_bf16(value.bits); });
  return values;
}

void copy(RecurrentDevice& device, const NetworkArray<float>& from, const NetworkArray<float>& to) {
  if (!from.empty()) device.copy(to.data(), from.data(), from.bytes());
}

template <class T>
void fill(RecurrentDevice& device, const NetworkArray<T>& array, unsigned char byte) {
  if (!array.empty()) device.fill(array.data(), byte, array.bytes());
}

/// Of all ones fp32, fp64 and bf16 make a NaN.
template <class T>
void poison_array(RecurrentDevice& device, const NetworkArray<T>& array) {
  fill(device, array, 0xFF);
}

void poison_array(RecurrentDevice& device, const StoredArray& array) {
  poison_array(device, array.full);
  poison_array(device, array.low);
}

void round_array(RecurrentDevice& device, const NetworkArray<float>& from, const LowArray& to) {
  if (to.empty()) return;
  device.round_to_bf16(from.data(), to.data(), static_cast<long long>(from.size()));
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

RecurrentArrays::RecurrentArrays(std::shared_ptr<RecurrentDevice> on,
                                 const RecurrentSpec& given,
                                 RecurrentInputs<float> values,
                                 ProductPrecision arithmetic,
                                 bool tensors_apart)
    : device(std::move(on)),
      spec(given),
      shape(cell_shape(given.cell)),
      precision(arithmetic),
      by_tensor(tensors_apart),
      inputs(std::move(values)),
      loss_scale(1.0F / static_cast<float>(given.batch)),
      loss_divisor(static_cast<double>(given.batch)),
      buffers(gradient_buffers(given)) {
  if (truncated(spec)) {
    throw InfeasibleError(
        "back-propagation in segments is computed on the CPU alone; set \"truncate_steps\": 0",
        "truncate_steps",
        std::to_string(spec.truncate_steps),
        "0");
  }
  if (spec.input == 0) spec.input = spec.hidden;
  for (const ChainPlace& place : chain_places(spec)) add_chain(place);
  const std::int64_t x_elements = spec.steps * spec.batch * spec.input;
  x = NetworkArray<float>(*device, count(x_elements));
  x_low = LowArray(*device, low() ? x.size() : 0);
  allocate_outputs();
  copy_inputs();
  reset();
}

void RecurrentArrays::allocate_outputs() {
  const std::int64_t slots = by_tensor ? 1 : spec.steps + 2;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    y.push_back(stored(slots * spec.batch * y_columns(layer)));
  }
  const std::int64_t outputs = spec.steps * spec.batch * y_columns(spec.layers - 1);
  if (spec.pass != RecurrentPass::forward && !by_tensor)
    dy = NetworkArray<float>(*device, count(outputs));
  if (spec.pass == RecurrentPass::training) {
    target = NetworkArray<float>(*device, count(outputs));
    loss_scratch = NetworkArray<double>(*device, count(loss_parts));
    loss = NetworkArray<float>(*device, 1);
  }
  if (by_tensor) {
    y_steps = NetworkArray<const float*>(*device, count(spec.steps));
    y_steps_host = NetworkArray<const float*>::on_host(*device, count(spec.steps));
  }
  loss_host = NetworkArray<float>::on_host(*device, 1);
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
  const std::size_t wh = count(output() * shape.gates * spec.hidden);
  const std::size_t wp = count(spec.hidden * spec.projection);
  const std::size_t biases = count(shape.biases * spec.hidden);
  const auto sized = [this](NetworkArray<float>& array, std::size_t size, bool used = true) {
    array = NetworkArray<float>(*device, used ? size : 0);
  };
  sized(chain.wx, wx);
  sized(chain.wh, wh);
  sized(chain.bias, biases);
  sized(chain.wp, wp);
  sized(chain.wx_first, wx, training);
  sized(chain.wh_first, wh, training);
  sized(chain.bias_first, biases, training);
  sized(chain.wp_first, wp, training);
  sized(chain.wx_moments, 2 * wx, adam);
  sized(chain.wh_moments, 2 * wh, adam);
  sized(chain.bias_moments, 2 * biases, adam);
  sized(chain.wp_moments, 2 * wp, adam);
  allocate_steps(chain);
  sized(chain.dh, count(spec.hidden_1_slices * spec.batch * output()), backward);
  sized(chain.dh_last, count(spec.batch * output()), backward);
  for (auto* array : {&chain.carry, &chain.carry_last}) sized(*array, count(cell), backward);
  sized(chain.dwx, buffers * wx, backward);
  sized(chain.dwh, buffers * wh, backward);
  sized(chain.dbias, buffers * biases, backward);
  sized(chain.dwp, buffers * wp, backward);
  if (spec.k_major && backward) allocate_copies(chain);
  if (!low()) return;
  chain.wx_low = LowArray(*device, chain.wx.size());
  chain.wh_low = LowArray(*device, chain.wh.size());
  chain.wp_low = LowArray(*device, chain.wp.size());
  sized(chain.h_first, count(spec.batch * output()));
}

StoredArray RecurrentArrays::stored(std::int64_t elements) const {
  StoredArray array;
  if (low()) {
    array.low = LowArray(*device, count(elements));
  } else {
    array.full = NetworkArray<float>(*device, count(elements));
  }
  return array;
}

void RecurrentArrays::allocate_copies(DeviceChain& chain) const {
  const std::int64_t rows = spec.steps * spec.batch;
  chain.input_copy = stored(chain.place.width * rows);
  chain.state_copy = stored(output() * rows);
  chain.gate_gradient_copy = stored(shape.gate_gradients * spec.hidden * rows);
}

void RecurrentArrays::allocate_steps(DeviceChain& chain) const {
  const bool backward = spec.pass != RecurrentPass::forward;
  const bool inner = shape.candidate_gates > 0 || projected();
  const std::int64_t cell = spec.batch * spec.hidden;
  const auto sized = [this](NetworkArray<float>& array, std::int64_t size, bool used) {
    array = NetworkArray<float>(*device, used ? count(size) : 0);
  };
  const auto of_steps = [this](StoredArray& array, std::int64_t size, bool used) {
    array = stored(used ? spec.steps * size : 0);
  };
  const bool one_task =
      spec.granularity == Granularity::coarse || spec.granularity == Granularity::data_and_weight;
  of_steps(chain.gates, spec.batch * saved_columns(), !by_tensor);
  // In whole nodes the products live only inside the task.
  sized(chain.zh, shape.gates * cell, !by_tensor || one_task);
  sized(chain.c, (by_tensor ? 1 : spec.steps + 2) * cell, shape.cell_state);
  of_steps(chain.reset, cell, inner && !by_tensor);
  sized(chain.reset_gradient, cell, backward && inner && (!by_tensor || one_task));
  of_steps(chain.projected_gradients, spec.batch * output(), backward && projected() && !by_tensor);
  of_steps(chain.gate_gradients, shape.gate_gradients * cell, backward && !by_tensor);
  of_steps(
      chain.dx, spec.batch * chain.place.width, backward && (!by_tensor || chain.place.layer == 0));
}

void RecurrentArrays::copy_inputs() {
  copy_x();
  if (!inputs.dy.empty()) upload(*device, inputs.dy, dy.data());
  if (!inputs.target.empty()) upload(*device, inputs.target, target.data());
  for (std::size_t i = 0; i < chains.size(); ++i) copy_chain_inputs(chains[i], inputs.chains[i]);
}

/// For the task transfer_in; at the same address every time.
void RecurrentArrays::copy_x() {
  if (spec.pageable) {
    x_pageable.resize(inputs.x.size());
    std::copy(inputs.x.begin(), inputs.x.end(), x_pageable.begin());
  } else {
    if (x_host.size() == 0) x_host = NetworkArray<float>::on_host(*device, inputs.x.size());
    std::copy(inputs.x.begin(), inputs.x.end(), x_host.data());
  }
}

void RecurrentArrays::copy_chain_inputs(DeviceChain& chain,
                                        const RecurrentChainInputs<float>& given) {
  upload(*device, permuted(given.wx, wx_order(), spec.hidden, true), chain.wx.data());
  upload(*device, given.wh, chain.wh.data());
  upload(*device, permuted(given.bias, bias_order(), spec.hidden, true), chain.bias.data());
  if (projected()) upload(*device, given.wp, chain.wp.data());
  if (spec.pass == RecurrentPass::training) {
    copy(*device, chain.wx, chain.wx_first);
    copy(*device, chain.wh, chain.wh_first);
    copy(*device, chain.bias, chain.bias_first);
    copy(*device, chain.wp, chain.wp_first);
  }
  if (spec.pass == RecurrentPass::forward) return;
  upload(*device, given.dh_last, chain.dh_last.data());
  if (shape.cell_state) {
    upload(*device, given.dc_last, chain.carry_last.data());
  } else {
    fill(*device, chain.carry_last, 0);
  }
}

/// Everything that tasks write.
void RecurrentArrays::poison() {
  for (DeviceChain& chain : chains) {
    if (!forward_kept_) {
      for (const auto* array : {&chain.zh, &chain.c}) poison_array(*device, *array);
      for (const auto* array : {&chain.gates, &chain.reset}) poison_array(*device, *array);
    }
    poison_array(*device, chain.reset_gradient);
    for (const auto* array : {&chain.gate_gradients,
                              &chain.projected_gradients,
                              &chain.dx,
                              &chain.input_copy,
                              &chain.state_copy,
                              &chain.gate_gradient_copy}) {
      poison_array(*device, *array);
    }
  }
  if (!forward_kept_) {
    for (const auto& array : y) poison_array(*device, array);
    poison_array(*device, x);
    poison_array(*device, x_low);
  }
  if (spec.pass == RecurrentPass::training) poison_array(*device, dy);
  poison_array(*device, y_steps);
  poison_array(*device, loss);
  poison_array(*device, loss_scratch);
}

void RecurrentArrays::reset() {
  poison();
  *loss_host.data() = 0.0F;
  // Else the task transfer_in does it.
  const bool given_x = spec.pass != RecurrentPass::training || !spec.transfers;
  if (given_x) {
    upload(*device, inputs.x, x.data());
    round_array(*device, x, x_low);
  }
  for (std::size_t i = 0; i < chains.size(); ++i) {
    DeviceChain& chain = chains[i];
    const RecurrentChainInputs<float>& given = inputs.chains[i];
    if (spec.pass == RecurrentPass::training) {
      copy(*device, chain.wx_first, chain.wx);
      copy(*device, chain.wh_first, chain.wh);
      copy(*device, chain.bias_first, chain.bias);
      copy(*device, chain.wp_first, chain.wp);
    }
    round_array(*device, chain.wx, chain.wx_low);
    round_array(*device, chain.wh, chain.wh_low);
    round_array(*device, chain.wp, chain.wp_low);
    for (auto* array : {&chain.wx_moments,
                        &chain.wh_moments,
                        &chain.bias_moments,
                        &chain.wp_moments,
                        &chain.dwx,
                        &chain.dwh,
                        &chain.dbias,
                        &chain.dwp}) {
      fill(*device, *array, 0);
    }
    copy(*device, chain.dh_last, chain.dh);
    copy(*device, chain.carry_last, chain.carry);
    set_initial_state(chain, given);
  }
}

void RecurrentArrays::set_initial_state(const DeviceChain& chain,
                                        const RecurrentChainInputs<float>& given) {
  const std::int64_t initial = before(chain.place, first_step(chain.place));
  const std::int64_t at = h_offset(chain.place, initial);
  const StoredArray& states = y[count(chain.place.layer)];
  const std::int64_t columns = y_columns(chain.place.layer);
  if (shape.cell_state) upload(*device, given.c0, chain.c.data() + c_offset(initial));
  if (!low()) {
    device->upload_rows(states.full_at(at),
                        count(columns) * sizeof(float),
                        given.h0.data(),
                        count(output()) * sizeof(float),
                        count(spec.batch));
    return;
  }
  upload(*device, given.h0, chain.h_first.data());
  const std::int64_t rows = columns == output() ? 1 : spec.batch;  // which lie apart
  const std::int64_t elements = spec.batch * output() / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    device->round_to_bf16(
        chain.h_first.data() + row * elements, states.low_at(at + row * columns), elements);
  }
}

RecurrentChainResults<float> RecurrentArrays::chain_results(const DeviceChain& chain) const {
  const std::int64_t gates = shape.gates * spec.hidden;
  const std::int64_t wx_size = chain.place.width * gates;
  const std::int64_t wh_size = output() * gates;
  const std::int64_t wp_size = spec.hidden * spec.projection;
  const std::int64_t biases = shape.biases * spec.hidden;
  const auto outside = [&](const float* from, std::int64_t size, const std::vector<int>& order) {
    return permuted(download(*device, from, size), order, spec.hidden, false);
  };
  RecurrentChainResults<float> results;
  results.wx = outside(chain.wx.data(), wx_size, wx_order());
  results.wh = download(*device, chain.wh.data(), wh_size);
  results.bias = outside(chain.bias.data(), biases, bias_order());
  if (projected()) results.wp = download(*device, chain.wp.data(), wp_size);
  if (spec.pass == RecurrentPass::forward) return results;
  results.dwx = outside(chain.dwx.data(), wx_size, wx_order());
  results.dwh = download(*device, chain.dwh.data(), wh_size);
  results.dbias = outside(chain.dbias.data(), biases, bias_order());
  if (projected()) results.dwp = download(*device, chain.dwp.data(), wp_size);
  set_initial_gradients(results,
                        download(*device, chain.dh.data(), spec.batch * output()),
                        download(*device, chain.carry.data(), spec.batch * spec.hidden),
                        shape.cell_state);
  return results;
}

float RecurrentArrays::loss_value() const {
  return spec.transfers ? *loss_host.data() : download(*device, loss.data(), 1).front();
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
    results.y = download(*device, y.back(), step, spec.steps * step);
  }
  if (spec.pass == RecurrentPass::forward) return results;
  const std::int64_t x_elements = spec.steps * spec.batch * spec.input;
  results.dx.assign(count(x_elements), 0.0F);
  for (const std::size_t index : layers.front()) {
    const std::vector<float> part = download(*device, chains[index].dx, 0, x_elements);
    std::transform(part.begin(), part.end(), results.dx.begin(), results.dx.begin(), std::plus<>{});
  }
  return results;
}

}  // namespace schedlab::detail
