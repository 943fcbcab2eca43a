// SPDX-License-Identifier: Apache-2.0
// Where the arrays of one step lie: side by side in the state, or each in memory of its own.
#include "real_exec/recurrent_steps.hpp"

namespace schedlab::detail {

std::vector<StepTensors::Elements> RecurrentSteps::step_elements() const {
  const auto cells = static_cast<std::size_t>(state_.cells());
  std::vector<StepTensors::Elements> all;
  for (const ChainState& chain : state_.chains) {
    const auto width = static_cast<std::size_t>(chain.width * state_.spec.batch);
    const auto gates = static_cast<std::size_t>(state_.shape.gates) * cells;
    // In the order of StepTensor: zx, zh, gates, c, h, dG, dx.
    all.push_back({gates, gates, gates, cells, cells, gates, width});
  }
  return all;
}

/// nullptr without memory of its own.
float* RecurrentSteps::own(StepTensor kind,
                           const ChainState& chain,
                           const Portion& portion,
                           std::int64_t step) const {
  if (tensors_ == nullptr) return nullptr;
  // Layers have one direction where tensors have memory of their own.
  return tensors_->find(portion.id, kind, static_cast<std::size_t>(chain.layer), step);
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
  return chain.gate_gradients.data() + step * gate_gradient_step();
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
  const ChainState& below = state_.chains[static_cast<std::size_t>(chain.layer - 1)];
  return own(StepTensor::h, below, portion, step);
}

float* RecurrentSteps::dx(ChainState& chain, const Portion& portion) const {
  if (tensors_ != nullptr && chain.layer > 0) {
    return own(StepTensor::input_gradients, chain, portion, portion.step);
  }
  return chain.dx.data() + portion.step * chain.width * state_.spec.batch;
}

}  // namespace schedlab::detail
