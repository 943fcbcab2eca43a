// SPDX-License-Identifier: Apache-2.0
// Where the matrices of one step lie on a device: side by side in the arrays, or each in memory of
// its own.
#include "real_exec/cuda/recurrent_launches.hpp"
#include "sim/base/error.hpp"

#include <array>

namespace schedlab::detail {

std::vector<StepTensorMap::Chain> RecurrentLaunches::step_arrays() const {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t cell = spec.batch * spec.hidden;
  std::vector<StepTensorMap::Chain> all;
  for (const DeviceChain& chain : arrays_.chains) {
    const std::int64_t layer = chain.place.layer;
    const std::int64_t outputs = spec.batch * arrays_.y_columns(layer);
    const bool top = layer == spec.layers - 1 && chain.place.direction == 0;
    // In the order of StepTensor: zx, zh, gates, c, h, dG, dx, dy.
    const std::array<std::int64_t, step_tensor_count> elements{
        arrays_.shape.gates * cell,
        arrays_.shape.gates * cell,
        arrays_.saved_columns() * spec.batch,
        arrays_.shape.cell_state ? cell : 0,
        outputs,
        gradient_columns() * spec.batch,
        layer > 0 ? spec.batch * chain.place.width : 0,
        top ? spec.steps * outputs : 0};
    StepTensorMap::Chain& arrays = all.emplace_back();
    for (std::size_t i = 0; i < step_tensor_count; ++i) {
      arrays.elements[i] = static_cast<std::size_t>(elements[i]);
    }
    arrays.outputs_in = arrays_.layers[static_cast<std::size_t>(layer)].front();
    arrays.outputs_at = static_cast<std::size_t>(chain.place.direction * spec.hidden);
  }
  return all;
}

float* RecurrentLaunches::own(StepTensor kind,
                              const DeviceChain& chain,
                              TaskId task,
                              std::int64_t step) const {
  if (map_ == nullptr) return nullptr;
  const auto index = static_cast<std::size_t>(&chain - arrays_.chains.data());
  const auto place = map_->find(task, kind, index, step);
  return place ? memory_->at(place->tensor) + place->at : nullptr;
}

RecurrentLaunches::Result RecurrentLaunches::gates(const DeviceChain& chain,
                                                   const DevicePortion& at) const {
  const std::int64_t saved = arrays_.saved_columns();
  float* const apart = own(StepTensor::gates, chain, at.id, at.step);
  if (apart != nullptr) return {.data = apart, .stride = saved};
  SCHEDLAB_EXPECTS(map_ == nullptr, "a task without the activations that it uses");
  return {.data = chain.gates.data() + at.step * arrays_.spec.batch * saved, .stride = saved};
}

RecurrentLaunches::Result RecurrentLaunches::products(const DeviceChain& chain,
                                                      const DevicePortion& at) const {
  float* const apart = own(StepTensor::input_products, chain, at.id, at.step);
  if (apart != nullptr) return {.data = apart, .stride = gate_columns()};
  return gates(chain, at);
}

RecurrentLaunches::Result RecurrentLaunches::recurrent_products(const DeviceChain& chain,
                                                                const DevicePortion& at) const {
  float* const apart = own(StepTensor::recurrent_products, chain, at.id, at.step);
  return {.data = apart != nullptr ? apart : chain.zh.data(), .stride = gate_columns()};
}

RecurrentLaunches::Operand RecurrentLaunches::input(const DeviceChain& chain,
                                                    TaskId task,
                                                    std::int64_t step) const {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t layer = chain.place.layer;
  if (layer == 0) {
    const std::int64_t at = step * spec.batch * spec.input;
    return {.full = arrays_.x.data() + at,
            .low = arrays_.low() ? arrays_.x_low.data() + at : nullptr,
            .stride = spec.input};
  }
  const auto below = static_cast<std::size_t>(layer - 1);
  const std::int64_t columns = arrays_.y_columns(layer - 1);
  if (map_ != nullptr) {
    // Both directions lie side by side, from the first one on.
    const DeviceChain& first = arrays_.chains[arrays_.layers[below].front()];
    return {.full = own(StepTensor::h, first, task, step), .stride = columns};
  }
  const std::int64_t at = (step + 1) * spec.batch * columns;
  return {.full = arrays_.y[below].data() + at,
          .low = arrays_.low() ? arrays_.y_low[below].data() + at : nullptr,
          .stride = columns};
}

float* RecurrentLaunches::h_data(const DeviceChain& chain, TaskId task, std::int64_t step) const {
  float* const apart = own(StepTensor::h, chain, task, step);
  if (apart != nullptr) return apart;
  // The arrays are this object's own; by tensors the initial state lies there too.
  return arrays_.y[static_cast<std::size_t>(chain.place.layer)].data() +
         arrays_.h_offset(chain.place, step);
}

RecurrentLaunches::Operand RecurrentLaunches::h(const DeviceChain& chain,
                                                TaskId task,
                                                std::int64_t step) const {
  const auto layer = static_cast<std::size_t>(chain.place.layer);
  const std::int64_t at = arrays_.h_offset(chain.place, step);
  return {.full = h_data(chain, task, step),
          .low = arrays_.low() ? arrays_.y_low[layer].data() + at : nullptr,
          .stride = arrays_.y_columns(chain.place.layer)};
}

float* RecurrentLaunches::c(const DeviceChain& chain, TaskId task, std::int64_t step) const {
  if (!arrays_.shape.cell_state) return nullptr;
  float* const apart = own(StepTensor::c, chain, task, step);
  return apart != nullptr ? apart : chain.c.data() + arrays_.c_offset(step);
}

float* RecurrentLaunches::gate_gradient_data(const DeviceChain& chain,
                                             TaskId task,
                                             std::int64_t step) const {
  if (map_ != nullptr) return own(StepTensor::gate_gradients, chain, task, step);
  return chain.gate_gradients.data() + step * arrays_.spec.batch * gradient_columns();
}

RecurrentLaunches::Operand RecurrentLaunches::gate_gradients(const DeviceChain& chain,
                                                             TaskId task,
                                                             std::int64_t step,
                                                             std::int64_t first_gate) const {
  const std::int64_t in_row = first_gate * arrays_.spec.hidden;
  const std::int64_t at = step * arrays_.spec.batch * gradient_columns() + in_row;
  return {.full = gate_gradient_data(chain, task, step) + in_row,
          .low = arrays_.low() ? chain.gate_gradients_low.data() + at : nullptr,
          .stride = gradient_columns()};
}

float* RecurrentLaunches::dx(const DeviceChain& chain, TaskId task, std::int64_t step) const {
  if (map_ != nullptr && chain.place.layer > 0) {
    return own(StepTensor::input_gradients, chain, task, step);
  }
  return chain.dx.data() + step * arrays_.spec.batch * chain.place.width;
}

float* RecurrentLaunches::dy(TaskId task) const {
  const DeviceChain& top = arrays_.chains[arrays_.layers.back().front()];
  float* const apart = own(StepTensor::output_gradients, top, task, 0);
  return apart != nullptr ? apart : arrays_.dy.data();
}

}  // namespace schedlab::detail
