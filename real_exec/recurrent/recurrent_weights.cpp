// SPDX-License-Identifier: Apache-2.0
// Sub-tasks on gradients of weights and on weights.
#include "real_exec/recurrent/gemm_panels.hpp"
#include "real_exec/recurrent/pointwise.hpp"
#include "real_exec/recurrent/recurrent_steps.hpp"

namespace schedlab::detail {
namespace {

std::ptrdiff_t registers(const PanelArray& array) {
  return static_cast<std::ptrdiff_t>(array.size()) / lanes;
}

}  // namespace

std::int64_t RecurrentSteps::first_summed(const ChainState& chain, const Portion& portion) {
  return portion.step - summed_direction(chain) * (portion.steps - 1);
}

std::vector<Portion> RecurrentSteps::single_steps(const ChainState& chain, const Portion& portion) {
  std::vector<Portion> all(static_cast<std::size_t>(portion.steps), portion);
  std::int64_t step = first_summed(chain, portion);
  for (Portion& one : all) {
    one.steps = 1;
    one.step = step;
    step += summed_direction(chain);
  }
  return all;
}

std::size_t RecurrentSteps::buffer(const ChainState& chain, const Portion& portion) {
  return static_cast<std::size_t>(portion.step) % chain.gradients.wx.size();
}

void RecurrentSteps::weight(SubTask task, ChainState& chain, const Portion& portion) {
  if (steps_apart(portion)) {
    for (const Portion& one : single_steps(chain, portion)) weight(task, chain, one);
    return;
  }
  const std::int64_t first = first_summed(chain, portion);
  const std::int64_t direction = summed_direction(chain);
  const std::size_t at = buffer(chain, portion);
  const std::ptrdiff_t cells = state_.cells();
  PanelGradient sum{.a = nullptr,
                    .a_step = direction * state_.h_step(chain),
                    .d = gate_gradients(chain, portion, first),
                    .d_step = direction * gate_gradient_step(),
                    .c = chain.gradients.wh[at].data(),
                    .rows = state_.spec.batch,
                    .features = state_.hidden,
                    .steps = portion.steps};
  std::int64_t gates = state_.shape.recurrent_gates;
  if (task == SubTask::weight_1) {
    gates = state_.shape.gates;
    sum.a = input(chain, portion, first);
    sum.a_step = direction * state_.input_step(chain);
    sum.c = chain.gradients.wx[at].data();
    sum.features = chain.width;
  } else if (task == SubTask::weight_2) {
    sum.a = h(chain, portion, RecurrentState::before(chain, first));
    // Of a GRU after n of the input's product.
    if (!state_.shape.cell_state) sum.d += cells;
  } else {
    gates = 1;
    sum.a = chain.reset.data() + first * cells;
    sum.a_step = direction * cells;
    sum.c += state_.shape.recurrent_gates * state_.hidden * state_.hidden;
  }
  accumulate(sum, portion.of(gate_panels(gates)));
  if (task == SubTask::weight_2 && !bias_apart(state_.spec)) bias(chain, portion);
}

void RecurrentSteps::bias(ChainState& chain, const Portion& portion) {
  if (steps_apart(portion)) {
    for (const Portion& one : single_steps(chain, portion)) bias(chain, one);
    return;
  }
  add_column_sums({.d = gate_gradients(chain, portion, first_summed(chain, portion)),
                   .d_step = summed_direction(chain) * gate_gradient_step(),
                   .sums = chain.gradients.bias[buffer(chain, portion)].data(),
                   .rows = state_.spec.batch,
                   .steps = portion.steps,
                   .panels = portion.of(gate_panels(state_.shape.biases))});
}

void RecurrentSteps::reduce(SubTask task, ChainState& chain, const Portion& portion) const {
  const auto sum = [&](std::vector<PanelArray>& buffers, std::ptrdiff_t begin, std::ptrdiff_t end) {
    const PanelRange part = portion.of(end - begin);
    for (std::size_t b = 1; b < buffers.size(); ++b) {
      add({.to = buffers.front().data(),
           .from = buffers[b].data(),
           .panels = {begin + part.begin, begin + part.end}});
    }
  };
  GradientBuffers& gradients = chain.gradients;
  const std::ptrdiff_t all = registers(gradients.wh.front());
  // Columns of the candidate, which have a task of their own, stand last.
  const std::ptrdiff_t recurrent = all / state_.shape.gates * state_.shape.recurrent_gates;
  const std::ptrdiff_t biases = registers(gradients.bias.front());
  switch (task) {
    case SubTask::reduce_1:
      return sum(gradients.wx, 0, registers(gradients.wx.front()));
    case SubTask::reduce_2:
      sum(gradients.wh, 0, recurrent);
      if (!bias_apart(state_.spec)) sum(gradients.bias, 0, biases);
      return;
    case SubTask::reduce_3:
      return sum(gradients.wh, recurrent, all);
    default:
      return sum(gradients.bias, 0, biases);
  }
}

void RecurrentSteps::update(ChainState& chain, const Portion& portion) const {
  const bool adam = state_.spec.optimizer == Optimizer::adam;
  const auto rate = static_cast<float>(adam ? adam_rate : sgd_rate);
  const auto one = [&](PanelArray& w,
                       float* transposed,
                       const PanelArray& gradient,
                       PanelArray& moments,
                       std::ptrdiff_t rows) {
    const std::ptrdiff_t units = registers(w) / (transposed == nullptr ? 1 : lanes);
    update_weights({.w = w.data(),
                    .transposed = transposed,
                    .gradient = gradient.data(),
                    .mean = adam ? moments.data() : nullptr,
                    .variance = adam ? moments.data() + w.size() : nullptr,
                    .rate = rate,
                    .rows = rows,
                    .n = state_.shape.gates * state_.hidden,
                    .panels = portion.of(units)});
  };
  one(chain.wx,
      chain.wx_transposed.data(),
      chain.gradients.wx.front(),
      chain.wx_moments,
      chain.width);
  one(chain.wh,
      chain.wh_transposed.data(),
      chain.gradients.wh.front(),
      chain.wh_moments,
      state_.hidden);
  one(chain.bias, nullptr, chain.gradients.bias.front(), chain.bias_moments, 1);
}

}  // namespace schedlab::detail
