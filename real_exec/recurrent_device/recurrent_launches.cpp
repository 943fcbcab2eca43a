// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent_device/recurrent_launches.hpp"

#include "sim/base/error.hpp"

#include <array>

namespace schedlab::detail {

void RecurrentLaunches::launch(SubTask task, const DevicePortion& portion, RecurrentQueue& to) {
  const DeviceChain& chain = arrays_.chains[portion.chain];
  switch (task) {
    case SubTask::transfer_in:
      return copy_in(to);
    case SubTask::input_gemm:
      return input_gemm(chain, portion, to);
    case SubTask::recurrent_gemm:
      return recurrent_gemm(chain, portion, to);
    case SubTask::candidate_gemm:
      return candidate_gemm(chain, portion, to);
    case SubTask::gates_forward:
    case SubTask::cell_forward:
    case SubTask::cell_values:
      return forward_cell(task, chain, portion, to);
    case SubTask::loss:
      return loss(portion, to);
    case SubTask::candidate_cell:
    case SubTask::cell:
      return backward_cell(task, chain, portion, to);
    case SubTask::candidate_hidden:
      return candidate_hidden(chain, portion, to);
    case SubTask::projection_gemm:
      return projection_gemm(chain, portion, to);
    case SubTask::projection_sum:
      return projection_sum(chain, portion, to);
    case SubTask::projection_hidden:
      return projection_hidden(chain, portion, to);
    case SubTask::hidden_1:
      return hidden_1(chain, portion, to);
    case SubTask::hidden_2:
      return hidden_2(chain, portion, to);
    case SubTask::transpose_input:
    case SubTask::transpose_state:
    case SubTask::transpose_gradients:
      return copy_transposed(task, chain, portion, to);
    case SubTask::weight_1:
    case SubTask::weight_2:
    case SubTask::weight_3:
      return weight(task, chain, portion, to);
    case SubTask::bias:
      return bias(chain, portion, to);
    case SubTask::reduce_1:
    case SubTask::reduce_2:
    case SubTask::reduce_3:
    case SubTask::reduce_bias:
      return reduce(task, chain, to);
    case SubTask::update:
      return update(chain, to);
    case SubTask::transfer_out:
      return copy_out(to);
  }
}

void RecurrentLaunches::run_forward(RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const bool candidate = arrays_.shape.candidate_gates > 0;
  for (std::size_t c = 0; c < arrays_.chains.size(); ++c) {
    const bool reversed = arrays_.chains[c].place.direction == 1;
    for (std::int64_t i = 0; i < spec.steps; ++i) {
      const DevicePortion at{.chain = c, .step = reversed ? spec.steps - 1 - i : i};
      launch(SubTask::input_gemm, at, to);
      launch(SubTask::recurrent_gemm, at, to);
      if (candidate) {
        launch(SubTask::gates_forward, at, to);
        launch(SubTask::candidate_gemm, at, to);
      }
      launch(SubTask::cell_forward, at, to);
      if (arrays_.projected()) launch(SubTask::projection_gemm, at, to);
    }
  }
  to.finish();
}

void RecurrentLaunches::multiply(const Size& size,
                                 const Operand& a,
                                 const Operand& b,
                                 const Result& c,
                                 RecurrentQueue& to) const {
  const auto factor = [&](const Operand& of) {
    return BlasMatrix{.data = arrays_.low() ? static_cast<const void*>(of.low) : of.full,
                      .stride = of.stride,
                      .transposed = of.transposed,
                      .product = of.product};
  };
  DataType type = DataType::fp32;
  if (arrays_.precision == ProductPrecision::tf32) type = DataType::tf32;
  if (arrays_.low()) type = DataType::bf16;
  to.multiply({.m = size.m,
               .n = size.n,
               .k = size.k,
               .a = factor(a),
               .b = factor(b),
               .c = c.low != nullptr ? static_cast<void*>(c.low) : c.data,
               .c_stride = c.stride,
               .c_product = c.product,
               .add = c.add,
               .type = type,
               .count = size.count,
               .low_result = c.low != nullptr,
               .units = size.units});
}

void RecurrentLaunches::copy_in(RecurrentQueue& to) {
  if (to.capturing() && arrays_.spec.pageable) {
    throw InfeasibleError(
        "a copy from pageable memory cannot be captured into a device graph: leave out "
        "\"pageable\", or launch eagerly");
  }
  const float* const from =
      arrays_.spec.pageable ? arrays_.x_pageable.data() : arrays_.x_host.data();
  to.upload(arrays_.x.data(), from, arrays_.x.bytes());
  if (!arrays_.low()) return;
  to.round_to_bf16(
      arrays_.x.data(), arrays_.x_low.data(), static_cast<long long>(arrays_.x.size()));
}

void RecurrentLaunches::copy_out(RecurrentQueue& to) const {
  to.download(arrays_.loss_host.data(), arrays_.loss.data(), sizeof(float));
}

void RecurrentLaunches::input_gemm(const DeviceChain& chain,
                                   const DevicePortion& at,
                                   RecurrentQueue& to) {
  multiply({arrays_.spec.batch, gate_columns(), chain.place.width},
           input(chain, at.id, at.step),
           {.full = chain.wx.data(), .low = chain.wx_low.data(), .stride = gate_columns()},
           products(chain, at),
           to);
}

void RecurrentLaunches::recurrent_gemm(const DeviceChain& chain,
                                       const DevicePortion& at,
                                       RecurrentQueue& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  multiply({arrays_.spec.batch, arrays_.shape.recurrent_gates * hidden, arrays_.output()},
           h(chain, at.id, RecurrentArrays::before(chain.place, at.step)),
           {.full = chain.wh.data(), .low = chain.wh_low.data(), .stride = gate_columns()},
           recurrent_products(chain, at),
           to);
}

void RecurrentLaunches::candidate_gemm(const DeviceChain& chain,
                                       const DevicePortion& at,
                                       RecurrentQueue& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  const std::int64_t first = arrays_.shape.recurrent_gates * hidden;
  const bool low = arrays_.low();
  multiply({arrays_.spec.batch, hidden, hidden},
           inner(chain, at.id, at.step),
           {.full = chain.wh.data() + first,
            .low = low ? chain.wh_low.data() + first : nullptr,
            .stride = gate_columns()},
           {.data = chain.zh.data() + first, .stride = gate_columns()},
           to);
}

void RecurrentLaunches::projection_gemm(const DeviceChain& chain,
                                        const DevicePortion& at,
                                        RecurrentQueue& to) {
  const auto columns = arrays_.y_columns(chain.place.layer);
  multiply({arrays_.spec.batch, arrays_.output(), arrays_.spec.hidden},
           inner(chain, at.id, at.step),
           {.full = chain.wp.data(), .low = chain.wp_low.data(), .stride = arrays_.output()},
           {.data = h_data(chain, at.id, at.step), .low = h_low(chain, at.step), .stride = columns},
           to);
}

void RecurrentLaunches::forward_cell(SubTask task,
                                     const DeviceChain& chain,
                                     const DevicePortion& at,
                                     RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const bool lstm = arrays_.shape.cell_state;
  const Result zx = products(chain, at);
  const Result activations = gates(chain, at);
  DeviceCellForward args{.products = zx.data,
                         .products_low = zx.low,
                         .gates = activations.data,
                         .gates_low = activations.low,
                         .recurrent = recurrent_products(chain, at).data,
                         .bias = chain.bias.data(),
                         .rows = static_cast<int>(spec.batch),
                         .hidden = static_cast<int>(spec.hidden),
                         .products_stride = static_cast<int>(zx.stride),
                         .gates_stride = static_cast<int>(activations.stride),
                         .recurrent_stride = static_cast<int>(gate_columns())};
  if (task != SubTask::cell_values) {
    const std::int64_t before = RecurrentArrays::before(chain.place, at.step);
    const auto columns = static_cast<int>(arrays_.y_columns(chain.place.layer));
    args.before = lstm ? c(chain, at.id, before) : h_data(chain, at.id, before);
    args.before_low = lstm ? nullptr : h_low(chain, before);
    args.before_stride = lstm ? args.hidden : columns;
    args.c = c(chain, at.id, at.step);
    args.h = h_data(chain, at.id, at.step);
    args.h_low = h_low(chain, at.step);
    args.h_stride = columns;
  }
  if (arrays_.projected()) {
    args.c = c(chain, at.id, at.step);
    args.h = inner_data(chain, at.id, at.step);
    args.h_low = inner_low(chain, at.step);
    args.h_stride = args.hidden;
  }
  if (lstm) return to.lstm_forward(args);
  if (spec.cell == RecurrentCell::gru) return to.gru_forward(args);
  args.reset = inner_data(chain, at.id, at.step);
  args.reset_low = inner_low(chain, at.step);
  return task == SubTask::gates_forward ? to.reset_gates_forward(args)
                                        : to.reset_cell_forward(args);
}

void RecurrentLaunches::loss(const DevicePortion& at, RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t columns = arrays_.y_columns(spec.layers - 1);
  DeviceLoss args{.target = arrays_.target.data(),
                  .dy = dy(at.id),
                  .parts = arrays_.loss_scratch.data(),
                  .loss = arrays_.loss.data(),
                  .lengths = arrays_.lengths.data(),
                  .elements = spec.steps * spec.batch * columns,
                  .batch = static_cast<int>(spec.batch),
                  .columns = static_cast<int>(columns),
                  .scale = arrays_.loss_scale,
                  .divisor = arrays_.loss_divisor};
  if (map_ == nullptr) {
    args.y = arrays_.y.back().full_at(spec.batch * columns);
    args.y_low = arrays_.y.back().low_at(spec.batch * columns);
    return to.squared_error(args);
  }
  const DeviceChain& top = arrays_.chains[arrays_.layers.back().front()];
  for (std::int64_t step = 0; step < spec.steps; ++step) {
    arrays_.y_steps_host.data()[step] = own(StepTensor::h, top, at.id, step);
  }
  to.upload(arrays_.y_steps.data(), arrays_.y_steps_host.data(), arrays_.y_steps.bytes());
  args.y_steps = arrays_.y_steps.data();
  args.host_y_steps = arrays_.y_steps_host.data();
  to.squared_error(args);
}

void RecurrentLaunches::backward_cell(SubTask task,
                                      const DeviceChain& chain,
                                      const DevicePortion& at,
                                      RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const bool lstm = arrays_.shape.cell_state;
  const std::int64_t before = RecurrentArrays::before(chain.place, at.step);
  const std::int64_t columns = arrays_.y_columns(chain.place.layer);
  const Result activations = gates(chain, at);
  DeviceCellBackward args{
      .gates = activations.data,
      .gates_low = activations.low,
      .c = c(chain, at.id, at.step),
      .before = lstm ? c(chain, at.id, before) : h_data(chain, at.id, before),
      .before_low = lstm ? nullptr : h_low(chain, before),
      .upstream = {},
      .upstream_low = {},
      .dh = chain.dh.data(),
      .carry = chain.carry.data(),
      .reset_gradient = chain.reset_gradient.data(),
      .gate_gradients = gate_gradient_data(chain, at.id, at.step),
      .gate_gradients_low = chain.gate_gradients.low_at(at.step * spec.batch * gradient_columns()),
      .rows = static_cast<int>(spec.batch),
      .hidden = static_cast<int>(spec.hidden),
      .slices = static_cast<int>(slices_read(spec, chain.place.direction, at.step)),
      .gates_stride = static_cast<int>(activations.stride),
      .before_stride = static_cast<int>(lstm ? spec.hidden : columns),
      .upstream_stride = static_cast<int>(columns),
      .gate_gradients_stride = static_cast<int>(gradient_columns())};
  if (arrays_.projected()) {
    args.dh = inner_gradient(chain, at);
    args.slices = 1;
  } else {
    upstream_gradients(chain, at, args.upstream, args.upstream_low);
  }
  if (lstm) return to.lstm_backward(args);
  if (spec.cell == RecurrentCell::gru) return to.gru_backward(args);
  return task == SubTask::candidate_cell ? to.reset_candidate_backward(args)
                                         : to.reset_cell_backward(args);
}

/// Of what comes from above, this direction's half.
void RecurrentLaunches::upstream_gradients(
    const DeviceChain& chain,
    const DevicePortion& at,
    const float* (&upstream)[2],             // NOLINT(*-avoid-c-arrays)
    const Bf16* (&upstream_low)[2]) const {  // NOLINT(*-avoid-c-arrays)
  const std::int64_t half = chain.place.direction * arrays_.output();
  const auto above = static_cast<std::size_t>(chain.place.layer + 1);
  if (above == arrays_.layers.size()) {
    const std::int64_t step = at.step * arrays_.spec.batch * arrays_.y_columns(chain.place.layer);
    upstream[0] = dy(at.id) + step + half;
    return;
  }
  int next = 0;
  for (const std::size_t upper : arrays_.layers[above]) {
    const Result from = dx(arrays_.chains[upper], at.id, at.step);
    if (from.low != nullptr) {
      upstream_low[next++] = from.low + half;
    } else {
      upstream[next++] = from.data + half;
    }
  }
}

void RecurrentLaunches::candidate_hidden(const DeviceChain& chain,
                                         const DevicePortion& at,
                                         RecurrentQueue& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  const std::int64_t first = arrays_.shape.recurrent_gates * hidden;
  multiply({arrays_.spec.batch, hidden, hidden},
           gate_gradients(chain, at.id, at.step, 0),
           {.full = chain.wh.data() + first,
            .low = arrays_.low() ? chain.wh_low.data() + first : nullptr,
            .stride = gate_columns(),
            .transposed = true},
           {.data = inner_gradient(chain, at), .stride = hidden},
           to);
}

void RecurrentLaunches::projection_sum(const DeviceChain& chain,
                                       const DevicePortion& at,
                                       RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t low_at = at.step * spec.batch * arrays_.output();
  DeviceGradientSum args{
      .to = projected_gradient_data(chain, at.id, at.step),
      .to_low = chain.projected_gradients.low_at(low_at),
      .upstream = {},
      .upstream_low = {},
      .dh = chain.dh.data(),
      .rows = static_cast<int>(spec.batch),
      .columns = static_cast<int>(arrays_.output()),
      .slices = static_cast<int>(slices_read(spec, chain.place.direction, at.step)),
      .upstream_stride = static_cast<int>(arrays_.y_columns(chain.place.layer))};
  upstream_gradients(chain, at, args.upstream, args.upstream_low);
  to.sum_gradients(args);
}

void RecurrentLaunches::projection_hidden(const DeviceChain& chain,
                                          const DevicePortion& at,
                                          RecurrentQueue& to) {
  multiply({arrays_.spec.batch, arrays_.spec.hidden, arrays_.output()},
           projected_gradient(chain, at.id, at.step),
           {.full = chain.wp.data(),
            .low = chain.wp_low.data(),
            .stride = arrays_.output(),
            .transposed = true},
           {.data = inner_gradient(chain, at), .stride = arrays_.spec.hidden},
           to);
}

void RecurrentLaunches::hidden_1(const DeviceChain& chain,
                                 const DevicePortion& at,
                                 RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t slices = slices_written(spec, chain.place.direction, at.step);
  const std::int64_t k = arrays_.shape.recurrent_gates * spec.hidden / slices;
  // Of a GRU after n of the input's product.
  Operand a = gate_gradients(chain, at.id, at.step, arrays_.shape.cell_state ? 0 : 1);
  a.product = k;
  const std::int64_t output = arrays_.output();
  multiply({.m = spec.batch, .n = output, .k = k, .count = slices},
           a,
           {.full = chain.wh.data(),
            .low = chain.wh_low.data(),
            .stride = gate_columns(),
            .transposed = true,
            .product = k},
           {.data = chain.dh.data(), .stride = output, .product = spec.batch * output},
           to);
}

void RecurrentLaunches::hidden_2(const DeviceChain& chain,
                                 const DevicePortion& at,
                                 RecurrentQueue& to) {
  const std::int64_t width = chain.place.width;
  // The steps lie one after another: one product over all their rows.
  for_each_part(chain, at, [&](const DevicePortion& part) {
    const std::int64_t lowest = lowest_step(chain, part);
    multiply({.m = part.steps * arrays_.spec.batch, .n = width, .k = gate_columns()},
             gate_gradients(chain, part.id, lowest, 0),
             {.full = chain.wx.data(),
              .low = chain.wx_low.data(),
              .stride = gate_columns(),
              .transposed = true},
             dx(chain, part.id, lowest),
             to);
  });
}

std::vector<StepTensorMap::Chain> RecurrentLaunches::step_arrays() const {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t cell = spec.batch * spec.hidden;
  std::vector<StepTensorMap::Chain> all;
  for (const DeviceChain& chain : arrays_.chains) {
    const std::int64_t layer = chain.place.layer;
    const std::int64_t outputs = spec.batch * arrays_.y_columns(layer);
    const bool top = layer == spec.layers - 1 && chain.place.direction == 0;
    const std::int64_t inner = arrays_.projected() ? cell : 0;
    // In the order of StepTensor: zx, zh, gates, c, h, dG, dx, m, dm, dp, dy.
    const std::array<std::int64_t, step_tensor_count> elements{
        arrays_.shape.gates * cell,
        arrays_.shape.gates * cell,
        arrays_.saved_columns() * spec.batch,
        arrays_.shape.cell_state ? cell : 0,
        outputs,
        gradient_columns() * spec.batch,
        layer > 0 ? spec.batch * chain.place.width : 0,
        inner,
        inner,
        arrays_.projected() ? spec.batch * arrays_.output() : 0,
        top ? spec.steps * outputs : 0};
    StepTensorMap::Chain& arrays = all.emplace_back();
    for (std::size_t i = 0; i < step_tensor_count; ++i) {
      arrays.elements[i] = static_cast<std::size_t>(elements[i]);
    }
    arrays.outputs_in = arrays_.layers[static_cast<std::size_t>(layer)].front();
    arrays.outputs_at = static_cast<std::size_t>(chain.place.direction * arrays_.output());
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
  const std::int64_t of_step = at.step * arrays_.spec.batch * saved;
  return {
      .data = chain.gates.full_at(of_step), .low = chain.gates.low_at(of_step), .stride = saved};
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
  return {
      .full = arrays_.y[below].full_at(at), .low = arrays_.y[below].low_at(at), .stride = columns};
}

float* RecurrentLaunches::h_data(const DeviceChain& chain, TaskId task, std::int64_t step) const {
  float* const apart = own(StepTensor::h, chain, task, step);
  if (apart != nullptr) return apart;
  // The arrays are this object's own; by tensors the initial state lies there too.
  return arrays_.y[static_cast<std::size_t>(chain.place.layer)].full_at(
      arrays_.h_offset(chain.place, step));
}

Bf16* RecurrentLaunches::h_low(const DeviceChain& chain, std::int64_t step) const {
  return arrays_.y[static_cast<std::size_t>(chain.place.layer)].low_at(
      arrays_.h_offset(chain.place, step));
}

RecurrentLaunches::Operand RecurrentLaunches::h(const DeviceChain& chain,
                                                TaskId task,
                                                std::int64_t step) const {
  return {.full = h_data(chain, task, step),
          .low = h_low(chain, step),
          .stride = arrays_.y_columns(chain.place.layer)};
}

float* RecurrentLaunches::c(const DeviceChain& chain, TaskId task, std::int64_t step) const {
  if (!arrays_.shape.cell_state) return nullptr;
  float* const apart = own(StepTensor::c, chain, task, step);
  return apart != nullptr ? apart : chain.c.data() + arrays_.c_offset(step);
}

float* RecurrentLaunches::inner_data(const DeviceChain& chain,
                                     TaskId task,
                                     std::int64_t step) const {
  float* const apart = own(StepTensor::inner, chain, task, step);
  if (apart != nullptr) return apart;
  return chain.reset.full_at(step * arrays_.spec.batch * arrays_.spec.hidden);
}

Bf16* RecurrentLaunches::inner_low(const DeviceChain& chain, std::int64_t step) const {
  return chain.reset.low_at(step * arrays_.spec.batch * arrays_.spec.hidden);
}

RecurrentLaunches::Operand RecurrentLaunches::inner(const DeviceChain& chain,
                                                    TaskId task,
                                                    std::int64_t step) const {
  return {.full = inner_data(chain, task, step),
          .low = inner_low(chain, step),
          .stride = arrays_.spec.hidden};
}

float* RecurrentLaunches::inner_gradient(const DeviceChain& chain, const DevicePortion& at) const {
  float* const apart = own(StepTensor::inner_gradients, chain, at.id, at.step);
  return apart != nullptr ? apart : chain.reset_gradient.data();
}

float* RecurrentLaunches::projected_gradient_data(const DeviceChain& chain,
                                                  TaskId task,
                                                  std::int64_t step) const {
  float* const apart = own(StepTensor::projected_gradients, chain, task, step);
  if (apart != nullptr) return apart;
  return chain.projected_gradients.full_at(step * arrays_.spec.batch * arrays_.output());
}

RecurrentLaunches::Operand RecurrentLaunches::projected_gradient(const DeviceChain& chain,
                                                                 TaskId task,
                                                                 std::int64_t step) const {
  const std::int64_t at = step * arrays_.spec.batch * arrays_.output();
  return {.full = projected_gradient_data(chain, task, step),
          .low = chain.projected_gradients.low_at(at),
          .stride = arrays_.output()};
}

float* RecurrentLaunches::gate_gradient_data(const DeviceChain& chain,
                                             TaskId task,
                                             std::int64_t step) const {
  if (map_ != nullptr) return own(StepTensor::gate_gradients, chain, task, step);
  return chain.gate_gradients.full_at(step * arrays_.spec.batch * gradient_columns());
}

RecurrentLaunches::Operand RecurrentLaunches::gate_gradients(const DeviceChain& chain,
                                                             TaskId task,
                                                             std::int64_t step,
                                                             std::int64_t first_gate) const {
  const std::int64_t in_row = first_gate * arrays_.spec.hidden;
  const std::int64_t at = step * arrays_.spec.batch * gradient_columns() + in_row;
  float* const full = gate_gradient_data(chain, task, step);
  return {.full = full == nullptr ? nullptr : full + in_row,
          .low = chain.gate_gradients.low_at(at),
          .stride = gradient_columns()};
}

RecurrentLaunches::Result RecurrentLaunches::dx(const DeviceChain& chain,
                                                TaskId task,
                                                std::int64_t step) const {
  const std::int64_t width = chain.place.width;
  if (map_ != nullptr && chain.place.layer > 0) {
    return {.data = own(StepTensor::input_gradients, chain, task, step), .stride = width};
  }
  const std::int64_t at = step * arrays_.spec.batch * width;
  return {.data = chain.dx.full_at(at), .low = chain.dx.low_at(at), .stride = width};
}

float* RecurrentLaunches::dy(TaskId task) const {
  const DeviceChain& top = arrays_.chains[arrays_.layers.back().front()];
  float* const apart = own(StepTensor::output_gradients, top, task, 0);
  return apart != nullptr ? apart : arrays_.dy.data();
}

}  // namespace schedlab::detail
