// SPDX-License-Identifier: Apache-2.0
// Training over several runs on a device: other sequences, weights that go on; and what the arrays
// of a network hold.
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent_device/recurrent_arrays.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace schedlab::detail {
namespace {

template <class... Arrays>
std::size_t bytes_of(const Arrays&... arrays) {
  return (std::size_t{0} + ... + arrays.bytes());
}

/// Of what the network has once, of an array for each layer, and of all chains.
template <class Layers, class OfChain>
Bytes total_bytes(std::size_t once,
                  const Layers& layers,
                  const std::vector<DeviceChain>& chains,
                  OfChain of_chain) {
  std::size_t bytes = once;
  for (const auto& layer : layers) bytes += layer.bytes();
  for (const DeviceChain& chain : chains) bytes += of_chain(chain);
  return Bytes{static_cast<std::int64_t>(bytes)};
}

void copy_weights(RecurrentDevice& device,
                  const NetworkArray<float>& from,
                  const NetworkArray<float>& to) {
  SCHEDLAB_EXPECTS(
      from.size() == to.size(),
      fmt::format("weights of {} elements for a network of {}", from.size(), to.size()));
  device.copy(to.data(), from.data(), from.bytes());
}

}  // namespace

Bytes RecurrentArrays::tensor_bytes() const {
  return total_bytes(bytes_of(x, dy, target, loss), y, chains, [](const DeviceChain& chain) {
    return bytes_of(chain.wx,
                    chain.wh,
                    chain.bias,
                    chain.wp,
                    chain.wx_moments,
                    chain.wh_moments,
                    chain.bias_moments,
                    chain.wp_moments,
                    chain.gates,
                    chain.c,
                    chain.reset,
                    chain.projected_gradients,
                    chain.gate_gradients,
                    chain.dh,
                    chain.carry,
                    chain.dx,
                    chain.dwx,
                    chain.dwh,
                    chain.dbias,
                    chain.dwp);
  });
}

Bytes RecurrentArrays::workspace_bytes() const {
  const std::size_t shared = bytes_of(loss_scratch, y_steps, lengths, x_low);
  return total_bytes(shared, std::vector<StoredArray>{}, chains, [](const DeviceChain& chain) {
    return bytes_of(chain.wx_first,
                    chain.wh_first,
                    chain.bias_first,
                    chain.wp_first,
                    chain.zh,
                    chain.reset_gradient,
                    chain.h_first,
                    chain.dh_last,
                    chain.carry_last,
                    chain.wx_low,
                    chain.wh_low,
                    chain.wp_low,
                    chain.input_copy,
                    chain.state_copy,
                    chain.gate_gradient_copy);
  });
}

void RecurrentArrays::train_on(const PaddedBatch& batch) {
  expect_trained_on(spec, batch, inputs);
  if (!batch.breaks.empty()) {
    throw InfeasibleError(
        "several sequences in a row are trained on the CPU only\n  leave out packing");
  }
  inputs.x = batch.x;
  inputs.target = batch.target;
  for (RecurrentChainInputs<float>& chain : inputs.chains) {
    for (auto* state : {&chain.h0, &chain.c0}) std::fill(state->begin(), state->end(), 0.0F);
  }
  loss_scale = batch.scale;
  loss_divisor = 1.0 / static_cast<double>(batch.scale);
  copy_x();
  device->upload(target.data(), inputs.target.data(), target.bytes());
  if (lengths.empty()) lengths = NetworkArray<int>(*device, batch.lengths.size());
  const std::vector<int> rows(batch.lengths.begin(), batch.lengths.end());
  device->upload(lengths.data(), rows.data(), lengths.bytes());
}

void RecurrentArrays::continue_from(const RecurrentArrays& other) {
  expect_trained(spec);
  SCHEDLAB_EXPECTS(
      other.chains.size() == chains.size() && other.spec.cell == spec.cell,
      fmt::format("weights of {} chains for a network of {}", other.chains.size(), chains.size()));
  for (std::size_t i = 0; i < chains.size(); ++i) {
    copy_weights(*device, other.chains[i].wx, chains[i].wx_first);
    copy_weights(*device, other.chains[i].wh, chains[i].wh_first);
    copy_weights(*device, other.chains[i].bias, chains[i].bias_first);
    if (projected()) copy_weights(*device, other.chains[i].wp, chains[i].wp_first);
  }
}

}  // namespace schedlab::detail
