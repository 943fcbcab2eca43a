// SPDX-License-Identifier: Apache-2.0
// Gradients of weights, their sums, and the optimizer.
#include "real_exec/recurrent_device/recurrent_launches.hpp"

namespace schedlab::detail {

namespace {

/// h before each of the steps from `lowest` on lies from this step on.
std::int64_t first_before(const DeviceChain& chain, std::int64_t lowest) {
  return chain.place.direction == 1 ? lowest + 1 : lowest - 1;
}

}  // namespace

RecurrentLaunches::Operand RecurrentLaunches::k_major(const StoredArray& copy,
                                                      std::int64_t column,
                                                      std::int64_t lowest,
                                                      bool transposed) const {
  const std::int64_t rows = arrays_.spec.steps * arrays_.spec.batch;
  const std::int64_t at = column * rows + lowest * arrays_.spec.batch;
  return {
      .full = copy.full_at(at), .low = copy.low_at(at), .stride = rows, .transposed = transposed};
}

void RecurrentLaunches::copy_transposed(SubTask task,
                                        const DeviceChain& chain,
                                        const DevicePortion& portion,
                                        RecurrentQueue& to) {
  const std::int64_t lowest = lowest_step(chain, portion);
  Operand from = gate_gradients(chain, portion.id, lowest, 0);
  const StoredArray* copy = &chain.gate_gradient_copy;
  std::int64_t columns = gradient_columns();
  if (task == SubTask::transpose_input) {
    from = input(chain, portion.id, lowest);
    copy = &chain.input_copy;
    columns = chain.place.width;
  } else if (task == SubTask::transpose_state) {
    from = h(chain, portion.id, first_before(chain, lowest));
    copy = &chain.state_copy;
    columns = arrays_.output();
  }
  const std::int64_t at = lowest * arrays_.spec.batch;
  to.transpose({.from = arrays_.low() ? nullptr : from.full,
                .from_low = from.low,
                .to = copy->full_at(at),
                .to_low = copy->low_at(at),
                .rows = static_cast<int>(portion.steps * arrays_.spec.batch),
                .columns = static_cast<int>(columns),
                .from_stride = static_cast<int>(from.stride),
                .to_stride = static_cast<int>(arrays_.spec.steps * arrays_.spec.batch)});
}

void RecurrentLaunches::weight(SubTask task,
                               const DeviceChain& chain,
                               const DevicePortion& portion,
                               RecurrentQueue& to) {
  for_each_part(chain, portion, [&](const DevicePortion& part) {
    add_weight(task, chain, part, buffer(portion), to);
  });
  if (task == SubTask::weight_2 && !bias_apart(arrays_.spec)) bias(chain, portion, to);
}

void RecurrentLaunches::add_weight(SubTask task,
                                   const DeviceChain& chain,
                                   const DevicePortion& portion,
                                   std::int64_t buffer,
                                   RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const std::int64_t lowest = lowest_step(chain, portion);
  const std::int64_t rows = portion.steps * spec.batch;
  const std::int64_t gates = gate_columns();
  float* const dwh = chain.dwh.data() + buffer * arrays_.output() * gates;
  // The steps lie one after another: one product over all their rows.
  const bool copied = spec.k_major;
  if (task == SubTask::weight_1) {
    Operand a = input(chain, portion.id, lowest);
    a.transposed = true;
    Operand b = gate_gradients(chain, portion.id, lowest, 0);
    if (copied) {
      a = k_major(chain.input_copy, 0, lowest, false);
      b = k_major(chain.gate_gradient_copy, 0, lowest, true);
    }
    float* const dwx = chain.dwx.data() + buffer * chain.place.width * gates;
    multiply({.m = chain.place.width, .n = gates, .k = rows, .units = spec.weight_units},
             a,
             b,
             {.data = dwx, .stride = gates, .add = true},
             to);
  } else if (task == SubTask::weight_2) {
    // Of a GRU after n of the input's product.
    const std::int64_t first_gate = arrays_.shape.cell_state ? 0 : 1;
    Operand a = h(chain, portion.id, first_before(chain, lowest));
    a.transposed = true;
    Operand b = gate_gradients(chain, portion.id, lowest, first_gate);
    if (copied) {
      a = k_major(chain.state_copy, 0, lowest, false);
      b = k_major(chain.gate_gradient_copy, first_gate * spec.hidden, lowest, true);
    }
    multiply({.m = arrays_.output(),
              .n = arrays_.shape.recurrent_gates * spec.hidden,
              .k = rows,
              .units = spec.weight_units},
             a,
             b,
             {.data = dwh, .stride = gates, .add = true},
             to);
  } else {
    Operand a = inner(chain, portion.id, lowest);
    a.transposed = true;
    if (arrays_.projected()) {
      const std::int64_t output = arrays_.output();
      float* const dwp = chain.dwp.data() + buffer * spec.hidden * output;
      return multiply({.m = spec.hidden, .n = output, .k = rows, .units = spec.weight_units},
                      a,
                      projected_gradient(chain, portion.id, lowest),
                      {.data = dwp, .stride = output, .add = true},
                      to);
    }
    multiply(
        {.m = spec.hidden, .n = spec.hidden, .k = rows, .units = spec.weight_units},
        a,
        gate_gradients(chain, portion.id, lowest, 0),
        {.data = dwh + arrays_.shape.recurrent_gates * spec.hidden, .stride = gates, .add = true},
        to);
  }
}

void RecurrentLaunches::bias(const DeviceChain& chain,
                             const DevicePortion& portion,
                             RecurrentQueue& to) {
  for_each_part(chain, portion, [&](const DevicePortion& part) {
    add_bias(chain, part, buffer(portion), to);
  });
}

void RecurrentLaunches::add_bias(const DeviceChain& chain,
                                 const DevicePortion& portion,
                                 std::int64_t buffer,
                                 RecurrentQueue& to) {
  const std::int64_t biases = arrays_.shape.biases * arrays_.spec.hidden;
  const Operand d = gate_gradients(chain, portion.id, lowest_step(chain, portion), 0);
  to.add_column_sums({.d = d.full,
                      .d_low = d.low,
                      .sums = chain.dbias.data() + buffer * biases,
                      .rows = static_cast<int>(portion.steps * arrays_.spec.batch),
                      .columns = static_cast<int>(biases),
                      .stride = static_cast<int>(gradient_columns())});
}

void RecurrentLaunches::reduce(SubTask task, const DeviceChain& chain, RecurrentQueue& to) {
  const RecurrentSpec& spec = arrays_.spec;
  const auto sum = [&](const NetworkArray<float>& buffers,
                       std::int64_t rows,
                       std::int64_t columns,
                       std::int64_t begin,
                       std::int64_t end) {
    for (std::size_t b = 1; b < arrays_.buffers; ++b) {
      const std::int64_t other = static_cast<std::int64_t>(b) * rows * columns;
      to.add({.to = buffers.data() + begin,
              .from = buffers.data() + other + begin,
              .rows = static_cast<int>(rows),
              .columns = static_cast<int>(end - begin),
              .stride = static_cast<int>(columns)});
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
      sum(chain.dwh, arrays_.output(), gates, 0, recurrent);
      if (!bias_apart(spec)) sum(chain.dbias, 1, biases, 0, biases);
      return;
    case SubTask::reduce_3:
      if (arrays_.projected()) {
        return sum(chain.dwp, spec.hidden, arrays_.output(), 0, arrays_.output());
      }
      return sum(chain.dwh, spec.hidden, gates, recurrent, gates);
    default:
      return sum(chain.dbias, 1, biases, 0, biases);
  }
}

void RecurrentLaunches::update(const DeviceChain& chain, RecurrentQueue& to) const {
  const bool adam = arrays_.spec.optimizer == Optimizer::adam;
  const auto one = [&](const NetworkArray<float>& w,
                       const LowArray& low,
                       const NetworkArray<float>& gradient,
                       const NetworkArray<float>& moments) {
    to.update_weights({.w = w.data(),
                       .w_low = low.data(),
                       .gradient = gradient.data(),
                       .mean = adam ? moments.data() : nullptr,
                       .variance = adam ? moments.data() + w.size() : nullptr,
                       .rate = static_cast<float>(adam ? adam_rate : sgd_rate),
                       .elements = static_cast<long long>(w.size())});
  };
  one(chain.wx, chain.wx_low, chain.dwx, chain.wx_moments);
  one(chain.wh, chain.wh_low, chain.dwh, chain.wh_moments);
  one(chain.bias, LowArray{}, chain.dbias, chain.bias_moments);
  if (arrays_.projected()) one(chain.wp, chain.wp_low, chain.dwp, chain.wp_moments);
}

}  // namespace schedlab::detail
