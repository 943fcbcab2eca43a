// SPDX-License-Identifier: Apache-2.0
// The way from panels back to plain arrays.
#include "real_exec/recurrent/initial_gradients.hpp"
#include "real_exec/recurrent/recurrent_state.hpp"

#include <algorithm>
#include <functional>

namespace schedlab::detail {
namespace {

std::vector<float> unpack(const PanelMap& map, const PanelArray& panels) {
  std::vector<float> plain(static_cast<std::size_t>(map.rows * map.block) * map.places.size());
  if (!panels.empty()) map.unpack(panels.data(), plain.data());
  return plain;
}

}  // namespace

Bytes RecurrentState::tensor_bytes() const {
  std::size_t floats = x.size() + dy.size() + target.size();
  for (const PanelArray& layer : y) floats += layer.size();
  for (const ChainState& chain : chains) {
    for (const auto* array : {&chain.wx,
                              &chain.wh,
                              &chain.bias,
                              &chain.wx_moments,
                              &chain.wh_moments,
                              &chain.bias_moments,
                              &chain.gates,
                              &chain.c,
                              &chain.reset,
                              &chain.gate_gradients,
                              &chain.dh,
                              &chain.carry,
                              &chain.dx}) {
      floats += array->size();
    }
    for (const auto* buffers : {&chain.gradients.wx, &chain.gradients.wh, &chain.gradients.bias}) {
      for (const PanelArray& buffer : *buffers) floats += buffer.size();
    }
  }
  return Bytes{static_cast<std::int64_t>(floats * sizeof(float))};
}

Bytes RecurrentState::workspace_bytes() const {
  std::size_t floats =
      loss_parts.size() + inputs.x.size() + inputs.dy.size() + inputs.target.size();
  for (const ChainState& chain : chains) {
    for (const auto* array : {&chain.wx_transposed,
                              &chain.wh_transposed,
                              &chain.wx_first,
                              &chain.wh_first,
                              &chain.bias_first,
                              &chain.zh,
                              &chain.reset_gradient,
                              &chain.dh_last,
                              &chain.carry_last}) {
      floats += array->size();
    }
  }
  for (const RecurrentChainInputs<float>& given : inputs.chains) {
    for (const auto* array : {&given.wx,
                              &given.wh,
                              &given.bias,
                              &given.h0,
                              &given.c0,
                              &given.dh_last,
                              &given.dc_last}) {
      floats += array->size();
    }
  }
  return Bytes{static_cast<std::int64_t>(floats * sizeof(float))};
}

RecurrentChainResults<float> RecurrentState::chain_results(const ChainState& chain) const {
  RecurrentChainResults<float> results;
  results.wx = unpack(chain.wx_map, chain.wx);
  results.wh = unpack(chain.wh_map, chain.wh);
  results.bias = unpack(chain.bias_map, chain.bias);
  if (spec.pass == RecurrentPass::forward) return results;
  results.dwx = unpack(chain.wx_map, chain.gradients.wx.front());
  results.dwh = unpack(chain.wh_map, chain.gradients.wh.front());
  results.dbias = unpack(chain.bias_map, chain.gradients.bias.front());
  const PanelMap map{.rows = spec.batch, .block = spec.hidden, .places = {0}};
  set_initial_gradients(results, unpack(map, chain.dh), unpack(map, chain.carry), shape.cell_state);
  return results;
}

RecurrentResults<float> RecurrentState::results() const {
  RecurrentResults<float> results;
  results.loss = spec.transfers ? returned_loss : loss;
  for (const ChainState& chain : chains) results.chains.push_back(chain_results(chain));

  const std::int64_t top = spec.layers - 1;
  const PanelMap map = output_map(*this, top);
  const auto step_elements = static_cast<std::size_t>(spec.batch * spec.hidden * directions(top));
  results.y.resize(static_cast<std::size_t>(spec.steps) * step_elements);
  for (std::int64_t t = 0; t < spec.steps && !by_tensor; ++t) {
    map.unpack(y[static_cast<std::size_t>(top)].data() + (t + 1) * y_step(top),
               results.y.data() + static_cast<std::size_t>(t) * step_elements);
  }
  if (spec.pass == RecurrentPass::forward) return results;

  const PanelMap input_map{.rows = spec.batch, .block = spec.input, .places = {0}};
  const auto input_elements = static_cast<std::size_t>(spec.batch * spec.input);
  results.dx.assign(static_cast<std::size_t>(spec.steps) * input_elements, 0.0F);
  std::vector<float> part(input_elements);
  for (const std::size_t index : layers.front()) {
    const ChainState& chain = chains[index];
    for (std::int64_t t = 0; t < spec.steps; ++t) {
      input_map.unpack(chain.dx.data() + t * chain.width * spec.batch, part.data());
      float* sum = results.dx.data() + static_cast<std::size_t>(t) * input_elements;
      std::transform(part.begin(), part.end(), sum, sum, std::plus<>{});
    }
  }
  return results;
}

}  // namespace schedlab::detail
