// SPDX-License-Identifier: Apache-2.0
// Where the arrays of one step lie: side by side in the state, or each in memory of its own.
#include "real_exec/recurrent/recurrent_steps.hpp"

namespace schedlab::detail {

std::vector<StepTensorMap::Chain> RecurrentSteps::step_arrays() const {
  const RecurrentCellShape& shape = state_.shape;
  const auto cells = static_cast<std::size_t>(state_.cells());
  std::vector<StepTensorMap::Chain> all;
  for (const ChainState& chain : state_.chains) {
    const auto width = static_cast<std::size_t>(chain.width * state_.spec.batch);
    const auto times = [&](std::int64_t count) { return static_cast<std::size_t>(count) * cells; };
    const auto outputs = static_cast<std::size_t>(state_.layer_step(chain.layer));
    StepTensorMap::Chain& arrays = all.emplace_back();
    // In the order of StepTensor: zx, zh, gates, c, h, dG, dx, dy.
    arrays.elements = {times(shape.gates),
                       times(shape.recurrent_gates),
                       times(shape.saved_gates),
                       times(shape.cell_state ? 1 : 0),
                       outputs,
                       times(shape.gate_gradients),
                       width,
                       0};
    arrays.outputs_in = state_.layers[static_cast<std::size_t>(chain.layer)].front();
    arrays.outputs_at = static_cast<std::size_t>(chain.direction) * cells;
  }
  const std::size_t top = state_.layers.back().front();
  all[top].elements[static_cast<std::size_t>(StepTensor::output_gradients)] =
      static_cast<std::size_t>(state_.spec.steps * state_.layer_step(state_.spec.layers - 1));
  return all;
}

/// nullptr without memory of its own.
float* RecurrentSteps::own(StepTensor kind,
                           const ChainState& chain,
                           const Portion& portion,
                           std::int64_t step) const {
  if (tensors_ == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(&chain - state_.chains.data());
  return tensors_->find(portion.id, kind, index, step);
}

float* RecurrentSteps::gates(ChainState& chain, const Portion& portion) const {
  if (tensors_ != nullptr) return own(StepTensor::gates, chain, portion, portion.step);
  const auto step_elements = static_cast<std::ptrdiff_t>(chain.gates.size()) / state_.spec.steps;
  return chain.gates.data() + portion.step * step_elements;
}

float* RecurrentSteps::products(ChainState& chain, const Portion& portion) const {
  float* const apart = own(StepTensor::input_products, chain, portion, portion.step);
  return apart != nullptr ? apart : gates(chain, portion);
}

float* RecurrentSteps::recurrent_products(ChainState& chain, const Portion& portion) const {
  float* const apart = own(StepTensor::recurrent_products, chain, portion, portion.step);
  return apart != nullptr ? apart : chain.zh.data();
}

float* RecurrentSteps::gate_gradients(ChainState& chain,
                                      const Portion& portion,
                                      std::int64_t step) const {
  if (tensors_ != nullptr) return own(StepTensor::gate_gradients, chain, portion, step);
  PanelArray& array = state_.gradients_replace_gates() ? chain.gates : chain.gate_gradients;
  return array.data() + step * gate_gradient_step();
}

float* RecurrentSteps::h(const ChainState& chain, const Portion& portion, std::int64_t step) {
  float* const apart = own(StepTensor::h, chain, portion, step);
  return apart != nullptr ? apart : state_.h(chain, step);  // the initial state lies there too
}

float* RecurrentSteps::c(ChainState& chain, const Portion& portion, std::int64_t step) const {
  float* const apart = own(StepTensor::c, chain, portion, step);
  return apart != nullptr ? apart : state_.c(chain, step);
}

const float* RecurrentSteps::input(const ChainState& chain,
                                   const Portion& portion,
                                   std::int64_t step) const {
  if (tensors_ == nullptr || chain.layer == 0) return state_.input(chain, step);
  // Both directions lie side by side, from the first one on.
  const std::size_t below = state_.layers[static_cast<std::size_t>(chain.layer - 1)].front();
  return own(StepTensor::h, state_.chains[below], portion, step);
}

float* RecurrentSteps::dy(const Portion& portion) {
  const std::size_t top = state_.layers.back().front();
  float* const apart = own(StepTensor::output_gradients, state_.chains[top], portion, 0);
  return apart != nullptr ? apart : state_.dy.data();
}

float* RecurrentSteps::dx(ChainState& chain, const Portion& portion) const {
  if (tensors_ != nullptr && chain.layer > 0) {
    return own(StepTensor::input_gradients, chain, portion, portion.step);
  }
  return chain.dx.data() + portion.step * chain.width * state_.spec.batch;
}

}  // namespace schedlab::detail
