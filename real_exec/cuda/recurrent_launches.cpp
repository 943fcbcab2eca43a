// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/recurrent_launches.hpp"

#include "real_exec/cuda/array_kernels.hpp"
#include "sim/base/error.hpp"

namespace schedlab::detail {

void RecurrentLaunches::launch(SubTask task, const DevicePortion& portion, const CudaLaunch& to) {
  const DeviceChain& chain = arrays_.chains[portion.chain];
  switch (task) {
    case SubTask::transfer_in:
      return copy_in(to);
    case SubTask::input_gemm:
      return input_gemm(chain, portion.step, to);
    case SubTask::recurrent_gemm:
      return recurrent_gemm(chain, portion.step, to);
    case SubTask::candidate_gemm:
      return candidate_gemm(chain, portion.step, to);
    case SubTask::gates_forward:
    case SubTask::cell_forward:
      return forward_cell(task, chain, portion.step, to.stream);
    case SubTask::cell_values:
      SCHEDLAB_EXPECTS(false, "recomputation on a CUDA device");
      return;
    case SubTask::loss:
      return loss(to.stream);
    case SubTask::candidate_cell:
    case SubTask::cell:
      return backward_cell(task, chain, portion.step, to.stream);
    case SubTask::candidate_hidden:
      return candidate_hidden(chain, portion.step, to);
    case SubTask::hidden_1:
      return hidden_1(chain, portion.step, to);
    case SubTask::hidden_2:
      return hidden_2(chain, portion.step, to);
    case SubTask::weight_1:
    case SubTask::weight_2:
    case SubTask::weight_3:
      return weight(task, chain, portion, to);
    case SubTask::bias:
      return bias(chain, portion, to.stream);
    case SubTask::reduce_1:
    case SubTask::reduce_2:
    case SubTask::reduce_3:
    case SubTask::reduce_bias:
      return reduce(task, chain, to.stream);
    case SubTask::update:
      return update(chain, to.stream);
    case SubTask::transfer_out:
      return copy_out(to);
  }
}

void RecurrentLaunches::run_forward(const CudaLaunch& to) {
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
    }
  }
  check_cuda(cudaStreamSynchronize(to.stream), "cudaStreamSynchronize");
}

void RecurrentLaunches::multiply(const Size& size,
                                 const Operand& a,
                                 const Operand& b,
                                 const Result& c,
                                 const CudaLaunch& to) const {
  const auto factor = [&](const Operand& of) {
    return BlasMatrix{.data = arrays_.low() ? static_cast<const void*>(of.low) : of.full,
                      .stride = of.stride,
                      .transposed = of.transposed};
  };
  DataType type = DataType::fp32;
  if (arrays_.precision == CudaPrecision::tf32) type = DataType::tf32;
  if (arrays_.low()) type = DataType::bf16;
  to.multiply({.m = size.m,
               .n = size.n,
               .k = size.k,
               .a = factor(a),
               .b = factor(b),
               .c = c.data,
               .c_stride = c.stride,
               .add = c.add,
               .type = type});
}

RecurrentLaunches::Operand RecurrentLaunches::input(const DeviceChain& chain,
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
  const std::int64_t at = (step + 1) * spec.batch * columns;
  return {.full = arrays_.y[below].data() + at,
          .low = arrays_.low() ? arrays_.y_low[below].data() + at : nullptr,
          .stride = columns};
}

RecurrentLaunches::Operand RecurrentLaunches::h(const DeviceChain& chain, std::int64_t step) const {
  const auto layer = static_cast<std::size_t>(chain.place.layer);
  const std::int64_t at = arrays_.h_offset(chain.place, step);
  return {.full = arrays_.y[layer].data() + at,
          .low = arrays_.low() ? arrays_.y_low[layer].data() + at : nullptr,
          .stride = arrays_.y_columns(chain.place.layer)};
}

RecurrentLaunches::Operand RecurrentLaunches::gate_gradients(const DeviceChain& chain,
                                                             std::int64_t step,
                                                             std::int64_t first_gate) const {
  const std::int64_t at =
      step * arrays_.spec.batch * gradient_columns() + first_gate * arrays_.spec.hidden;
  return {.full = chain.gate_gradients.data() + at,
          .low = arrays_.low() ? chain.gate_gradients_low.data() + at : nullptr,
          .stride = gradient_columns()};
}

void RecurrentLaunches::copy_in(const CudaLaunch& to) {
  if (to.capturing && arrays_.spec.pageable) {
    throw InfeasibleError(
        "a copy from pageable memory cannot be captured into a device graph: leave out "
        "\"pageable\", or launch eagerly");
  }
  const float* const from =
      arrays_.spec.pageable ? arrays_.x_pageable.data() : arrays_.x_host.data();
  check_cuda(
      cudaMemcpyAsync(arrays_.x.data(), from, arrays_.x.bytes(), cudaMemcpyHostToDevice, to.stream),
      "cudaMemcpyAsync to the device");
  if (!arrays_.low()) return;
  round_to_bf16(
      arrays_.x.data(), arrays_.x_low.data(), static_cast<long long>(arrays_.x.size()), to.stream);
}

void RecurrentLaunches::copy_out(const CudaLaunch& to) {
  check_cuda(cudaMemcpyAsync(arrays_.loss_host.data(),
                             arrays_.loss.data(),
                             sizeof(float),
                             cudaMemcpyDeviceToHost,
                             to.stream),
             "cudaMemcpyAsync from the device");
}

void RecurrentLaunches::input_gemm(const DeviceChain& chain,
                                   std::int64_t step,
                                   const CudaLaunch& to) {
  const std::int64_t saved = arrays_.saved_columns();
  multiply({arrays_.spec.batch, gate_columns(), chain.place.width},
           input(chain, step),
           {.full = chain.wx.data(), .low = chain.wx_low.data(), .stride = gate_columns()},
           {.data = chain.gates.data() + step * arrays_.spec.batch * saved, .stride = saved},
           to);
}

void RecurrentLaunches::recurrent_gemm(const DeviceChain& chain,
                                       std::int64_t step,
                                       const CudaLaunch& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  multiply({arrays_.spec.batch, arrays_.shape.recurrent_gates * hidden, hidden},
           h(chain, RecurrentArrays::before(chain.place, step)),
           {.full = chain.wh.data(), .low = chain.wh_low.data(), .stride = gate_columns()},
           {.data = chain.zh.data(), .stride = gate_columns()},
           to);
}

void RecurrentLaunches::candidate_gemm(const DeviceChain& chain,
                                       std::int64_t step,
                                       const CudaLaunch& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  const std::int64_t at = step * arrays_.spec.batch * hidden;
  const std::int64_t first = arrays_.shape.recurrent_gates * hidden;
  const bool low = arrays_.low();
  multiply({arrays_.spec.batch, hidden, hidden},
           {.full = chain.reset.data() + at,
            .low = low ? chain.reset_low.data() + at : nullptr,
            .stride = hidden},
           {.full = chain.wh.data() + first,
            .low = low ? chain.wh_low.data() + first : nullptr,
            .stride = gate_columns()},
           {.data = chain.zh.data() + first, .stride = gate_columns()},
           to);
}

void RecurrentLaunches::forward_cell(SubTask task,
                                     const DeviceChain& chain,
                                     std::int64_t step,
                                     cudaStream_t to) {
  const RecurrentSpec& spec = arrays_.spec;
  const bool lstm = arrays_.shape.cell_state;
  const std::int64_t before = RecurrentArrays::before(chain.place, step);
  const std::int64_t cell = spec.batch * spec.hidden;
  const Operand h_here = h(chain, step);
  DeviceCellForward args{
      .gates = chain.gates.data() + step * spec.batch * arrays_.saved_columns(),
      .recurrent = chain.zh.data(),
      .bias = chain.bias.data(),
      .before = lstm ? chain.c.data() + (before + 1) * cell : h(chain, before).full,
      .c = lstm ? chain.c.data() + (step + 1) * cell : nullptr,
      // The arrays are this object's own; operands of products only read them.
      .h = arrays_.y[static_cast<std::size_t>(chain.place.layer)].data() +
           arrays_.h_offset(chain.place, step),
      .rows = static_cast<int>(spec.batch),
      .hidden = static_cast<int>(spec.hidden),
      .gates_stride = static_cast<int>(arrays_.saved_columns()),
      .recurrent_stride = static_cast<int>(gate_columns()),
      .before_stride = static_cast<int>(lstm ? spec.hidden : h_here.stride),
      .h_stride = static_cast<int>(h_here.stride)};
  if (arrays_.low()) {
    args.h_low = arrays_.y_low[static_cast<std::size_t>(chain.place.layer)].data() +
                 arrays_.h_offset(chain.place, step);
  }
  if (lstm) return lstm_forward(args, to);
  if (spec.cell == RecurrentCell::gru) return gru_forward(args, to);
  args.reset = chain.reset.data() + step * cell;
  if (arrays_.low()) args.reset_low = chain.reset_low.data() + step * cell;
  return task == SubTask::gates_forward ? reset_gates_forward(args, to)
                                        : reset_cell_forward(args, to);
}

void RecurrentLaunches::loss(cudaStream_t to) {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t step = spec.batch * arrays_.y_columns(spec.layers - 1);
  squared_error({.y = arrays_.y.back().data() + step,
                 .target = arrays_.target.data(),
                 .dy = arrays_.dy.data(),
                 .parts = arrays_.loss_scratch.data(),
                 .loss = arrays_.loss.data(),
                 .elements = spec.steps * step,
                 .batch = static_cast<int>(spec.batch)},
                to);
}

void RecurrentLaunches::backward_cell(SubTask task,
                                      const DeviceChain& chain,
                                      std::int64_t step,
                                      cudaStream_t to) {
  const RecurrentSpec& spec = arrays_.spec;
  const bool lstm = arrays_.shape.cell_state;
  const std::int64_t before = RecurrentArrays::before(chain.place, step);
  const std::int64_t cell = spec.batch * spec.hidden;
  const std::int64_t columns = arrays_.y_columns(chain.place.layer);
  const std::int64_t gradients_at = step * spec.batch * gradient_columns();
  DeviceCellBackward args{
      .gates = chain.gates.data() + step * spec.batch * arrays_.saved_columns(),
      .c = lstm ? chain.c.data() + (step + 1) * cell : nullptr,
      .before = lstm ? chain.c.data() + (before + 1) * cell : h(chain, before).full,
      .upstream = {},
      .dh = chain.dh.data(),
      .carry = chain.carry.data(),
      .reset_gradient = chain.reset_gradient.data(),
      .gate_gradients = chain.gate_gradients.data() + gradients_at,
      .rows = static_cast<int>(spec.batch),
      .hidden = static_cast<int>(spec.hidden),
      .gates_stride = static_cast<int>(arrays_.saved_columns()),
      .before_stride = static_cast<int>(lstm ? spec.hidden : columns),
      .upstream_stride = static_cast<int>(columns),
      .gate_gradients_stride = static_cast<int>(gradient_columns())};
  if (arrays_.low()) args.gate_gradients_low = chain.gate_gradients_low.data() + gradients_at;
  // Of what comes from above, this direction's half.
  const std::int64_t half = step * spec.batch * columns + chain.place.direction * spec.hidden;
  const auto above = static_cast<std::size_t>(chain.place.layer + 1);
  if (above == arrays_.layers.size()) {
    args.upstream[0] = arrays_.dy.data() + half;
  } else {
    int next = 0;
    for (const std::size_t upper : arrays_.layers[above]) {
      args.upstream[next++] = arrays_.chains[upper].dx.data() + half;
    }
  }
  if (lstm) return lstm_backward(args, to);
  if (spec.cell == RecurrentCell::gru) return gru_backward(args, to);
  return task == SubTask::candidate_cell ? reset_candidate_backward(args, to)
                                         : reset_cell_backward(args, to);
}

void RecurrentLaunches::candidate_hidden(const DeviceChain& chain,
                                         std::int64_t step,
                                         const CudaLaunch& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  const std::int64_t first = arrays_.shape.recurrent_gates * hidden;
  multiply({arrays_.spec.batch, hidden, hidden},
           gate_gradients(chain, step, 0),
           {.full = chain.wh.data() + first,
            .low = arrays_.low() ? chain.wh_low.data() + first : nullptr,
            .stride = gate_columns(),
            .transposed = true},
           {.data = chain.reset_gradient.data(), .stride = hidden},
           to);
}

void RecurrentLaunches::hidden_1(const DeviceChain& chain,
                                 std::int64_t step,
                                 const CudaLaunch& to) {
  const std::int64_t hidden = arrays_.spec.hidden;
  // Of a GRU after n of the input's product.
  multiply({arrays_.spec.batch, hidden, arrays_.shape.recurrent_gates * hidden},
           gate_gradients(chain, step, arrays_.shape.cell_state ? 0 : 1),
           {.full = chain.wh.data(),
            .low = chain.wh_low.data(),
            .stride = gate_columns(),
            .transposed = true},
           {.data = chain.dh.data(), .stride = hidden},
           to);
}

void RecurrentLaunches::hidden_2(const DeviceChain& chain,
                                 std::int64_t step,
                                 const CudaLaunch& to) {
  const std::int64_t width = chain.place.width;
  multiply({arrays_.spec.batch, width, gate_columns()},
           gate_gradients(chain, step, 0),
           {.full = chain.wx.data(),
            .low = chain.wx_low.data(),
            .stride = gate_columns(),
            .transposed = true},
           {.data = chain.dx.data() + step * arrays_.spec.batch * width, .stride = width},
           to);
}

void RecurrentLaunches::weight(SubTask task,
                               const DeviceChain& chain,
                               const DevicePortion& portion,
                               const CudaLaunch& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t lowest = lowest_step(chain, portion);
  const std::int64_t rows = portion.steps * spec.batch;
  const std::int64_t gates = gate_columns();
  float* const dwh = chain.dwh.data() + buffer(portion) * spec.hidden * gates;
  // The steps lie one after another: one product over all their rows.
  if (task == SubTask::weight_1) {
    Operand a = input(chain, lowest);
    a.transposed = true;
    float* const dwx = chain.dwx.data() + buffer(portion) * chain.place.width * gates;
    multiply({chain.place.width, gates, rows},
             a,
             gate_gradients(chain, lowest, 0),
             {.data = dwx, .stride = gates, .add = true},
             to);
  } else if (task == SubTask::weight_2) {
    const std::int64_t first_before =
        chain.place.direction == 1 ? lowest + 1 : lowest - 1;  // h before each step
    Operand a = h(chain, first_before);
    a.transposed = true;
    // Of a GRU after n of the input's product.
    multiply({spec.hidden, arrays_.shape.recurrent_gates * spec.hidden, rows},
             a,
             gate_gradients(chain, lowest, arrays_.shape.cell_state ? 0 : 1),
             {.data = dwh, .stride = gates, .add = true},
             to);
    if (!bias_apart(spec)) bias(chain, portion, to.stream);
  } else {
    const std::int64_t at = lowest * spec.batch * spec.hidden;
    multiply(
        {spec.hidden, spec.hidden, rows},
        {.full = chain.reset.data() + at,
         .low = arrays_.low() ? chain.reset_low.data() + at : nullptr,
         .stride = spec.hidden,
         .transposed = true},
        gate_gradients(chain, lowest, 0),
        {.data = dwh + arrays_.shape.recurrent_gates * spec.hidden, .stride = gates, .add = true},
        to);
  }
}

void RecurrentLaunches::bias(const DeviceChain& chain,
                             const DevicePortion& portion,
                             cudaStream_t to) {
  const std::int64_t biases = arrays_.shape.biases * arrays_.spec.hidden;
  add_column_sums({.d = gate_gradients(chain, lowest_step(chain, portion), 0).full,
                   .sums = chain.dbias.data() + buffer(portion) * biases,
                   .rows = static_cast<int>(portion.steps * arrays_.spec.batch),
                   .columns = static_cast<int>(biases),
                   .stride = static_cast<int>(gradient_columns())},
                  to);
}

void RecurrentLaunches::reduce(SubTask task, const DeviceChain& chain, cudaStream_t to) {
  const RecurrentSpec& spec = arrays_.spec;
  const auto sum = [&](const DeviceArray<float>& buffers,
                       std::int64_t rows,
                       std::int64_t columns,
                       std::int64_t begin,
                       std::int64_t end) {
    for (std::size_t b = 1; b < arrays_.buffers; ++b) {
      const std::int64_t other = static_cast<std::int64_t>(b) * rows * columns;
      add({.to = buffers.data() + begin,
           .from = buffers.data() + other + begin,
           .rows = static_cast<int>(rows),
           .columns = static_cast<int>(end - begin),
           .stride = static_cast<int>(columns)},
          to);
    }
  };
  const std::int64_t gates = gate_columns();
  // Columns of the candidate, which have a task of their own, stand last.
  const std::int64_t recurrent = arrays_.shape.recurrent_gates * spec.hidden;
  const std::int64_t biases = arrays_.shape.biases * spec.hidden;
  switch (task) {
    case SubTask::reduce_1:
      return sum(chain.dwx, chain.place.width, gates, 0, gates);
    case SubTask::reduce_2:
      sum(chain.dwh, spec.hidden, gates, 0, recurrent);
      if (!bias_apart(spec)) sum(chain.dbias, 1, biases, 0, biases);
      return;
    case SubTask::reduce_3:
      return sum(chain.dwh, spec.hidden, gates, recurrent, gates);
    default:
      return sum(chain.dbias, 1, biases, 0, biases);
  }
}

void RecurrentLaunches::update(const DeviceChain& chain, cudaStream_t to) {
  const bool adam = arrays_.spec.optimizer == Optimizer::adam;
  const auto one = [&](const DeviceArray<float>& w,
                       const LowArray& low,
                       const DeviceArray<float>& gradient,
                       const DeviceArray<float>& moments) {
    update_weights({.w = w.data(),
                    .w_low = low.data(),
                    .gradient = gradient.data(),
                    .mean = adam ? moments.data() : nullptr,
                    .variance = adam ? moments.data() + w.size() : nullptr,
                    .rate = static_cast<float>(adam ? adam_rate : sgd_rate),
                    .elements = static_cast<long long>(w.size())},
                   to);
  };
  one(chain.wx, chain.wx_low, chain.dwx, chain.wx_moments);
  one(chain.wh, chain.wh_low, chain.dwh, chain.wh_moments);
  one(chain.bias, LowArray{}, chain.dbias, chain.bias_moments);
}

}  // namespace schedlab::detail
