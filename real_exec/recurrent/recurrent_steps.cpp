// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_steps.hpp"

#include "real_exec/recurrent/gemm_panels.hpp"
#include "real_exec/recurrent/pointwise.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace schedlab::detail {
void RecurrentSteps::run(SubTask task, const Portion& portion) {
  ChainState& chain = state_.chains[portion.chain];
  switch (task) {
    case SubTask::transfer_in:
      return copy_in(portion);
    case SubTask::input_gemm:
      return input_gemm(chain, portion);
    case SubTask::recurrent_gemm:
      return recurrent_gemm(chain, portion);
    case SubTask::candidate_gemm:
      return candidate_gemm(chain, portion);
    case SubTask::gates_forward:
    case SubTask::cell_forward:
    case SubTask::cell_values:
      return forward_cell(task, chain, portion);
    case SubTask::loss:
      return loss(portion);
    case SubTask::candidate_cell:
    case SubTask::cell:
      return backward_cell(task, chain, portion);
    case SubTask::candidate_hidden:
      return candidate_hidden(chain, portion);
    case SubTask::hidden_1:
      return hidden_1(chain, portion);
    case SubTask::hidden_2:
      return hidden_2(chain, portion);
    case SubTask::weight_1:
    case SubTask::weight_2:
    case SubTask::weight_3:
      return weight(task, chain, portion);
    case SubTask::bias:
      return bias(chain, portion);
    case SubTask::reduce_1:
    case SubTask::reduce_2:
    case SubTask::reduce_3:
    case SubTask::reduce_bias:
      return reduce(task, chain, portion);
    case SubTask::update:
      return update(chain, portion);
    case SubTask::transfer_out:
      if (portion.block == 0) state_.returned_loss = state_.loss;
      return;
  }
}

void RecurrentSteps::reset() {
  state_.reset();
  loss_blocks_ = 0;
}

void RecurrentSteps::run_forward() {
  const RecurrentSpec& spec = state_.spec;
  const bool candidate = state_.shape.candidate_gates > 0;
  for (std::size_t c = 0; c < state_.chains.size(); ++c) {
    const bool reversed = RecurrentState::reversed(state_.chains[c]);
    for (std::int64_t i = 0; i < spec.steps; ++i) {
      const Portion all{.chain = c, .step = reversed ? spec.steps - 1 - i : i};
      run(SubTask::input_gemm, all);
      run(SubTask::recurrent_gemm, all);
      if (candidate) {
        run(SubTask::gates_forward, all);
        run(SubTask::candidate_gemm, all);
      }
      run(SubTask::cell_forward, all);
    }
  }
}

/// Lays the rows of x out in panels on their way.
void RecurrentSteps::copy_in(const Portion& portion) {
  const RecurrentSpec& spec = state_.spec;
  const PanelRange rows = portion.of(spec.steps * spec.batch);
  const std::ptrdiff_t step_elements = state_.input_step(state_.chains.front());
  for (std::ptrdiff_t row = rows.begin; row < rows.end; ++row) {
    const float* from = state_.inputs.x.data() + row * spec.input;
    float* to = state_.x.data() + row / spec.batch * step_elements + row % spec.batch * lanes;
    for (std::ptrdiff_t column = 0; column < spec.input; column += lanes) {
      const std::ptrdiff_t count = std::min<std::ptrdiff_t>(lanes, spec.input - column);
      std::memcpy(
          to + column * spec.batch, from + column, static_cast<std::size_t>(count) * sizeof(float));
    }
  }
}

void RecurrentSteps::input_gemm(ChainState& chain, const Portion& portion) {
  multiply({.a = input(chain, portion, portion.step),
            .b = chain.wx.data(),
            .c = products(chain, portion),
            .rows = state_.spec.batch,
            .k = chain.width,
            .b_rows = chain.width},
           portion.of(gate_panels(state_.shape.gates)));
}

void RecurrentSteps::recurrent_gemm(ChainState& chain, const Portion& portion) {
  multiply({.a = h(chain, portion, RecurrentState::before(chain, portion.step)),
            .b = chain.wh.data(),
            .c = recurrent_products(chain, portion),
            .rows = state_.spec.batch,
            .k = state_.hidden,
            .b_rows = state_.hidden},
           portion.of(gate_panels(state_.shape.recurrent_gates)));
}

void RecurrentSteps::candidate_gemm(ChainState& chain, const Portion& portion) {
  const std::ptrdiff_t first = gate_panels(state_.shape.recurrent_gates);
  const PanelRange panels = portion.of(gate_panels(1));
  multiply({.a = chain.reset.data() + portion.step * state_.cells(),
            .b = chain.wh.data(),
            .c = chain.zh.data(),
            .rows = state_.spec.batch,
            .k = state_.hidden,
            .b_rows = state_.hidden},
           {first + panels.begin, first + panels.end});
}

void RecurrentSteps::forward_cell(SubTask task, ChainState& chain, const Portion& portion) {
  const bool lstm = state_.shape.cell_state;
  const bool candidate = state_.shape.candidate_gates > 0;
  const std::int64_t before = RecurrentState::before(chain, portion.step);
  CellForward step{.gates = gates(chain, portion),
                   .products = candidate ? nullptr : products(chain, portion),
                   .recurrent = recurrent_products(chain, portion),
                   .bias = chain.bias.data(),
                   .before = nullptr,
                   .c = nullptr,
                   .h = nullptr,
                   .reset = nullptr,
                   .rows = state_.spec.batch,
                   .hidden = state_.hidden,
                   .panels = portion.of(gate_panels(1))};
  if (task == SubTask::cell_values) return lstm ? lstm_values(step) : gru_values(step);
  step.before = lstm ? c(chain, portion, before) : h(chain, portion, before);
  step.h = h(chain, portion, portion.step);
  if (lstm) {
    step.c = c(chain, portion, portion.step);
    return lstm_forward(step);
  }
  if (state_.spec.cell == RecurrentCell::gru) return gru_forward(step);
  step.reset = chain.reset.data() + portion.step * state_.cells();
  return task == SubTask::gates_forward ? reset_gates_forward(step) : reset_cell_forward(step);
}

/// One row of panels of y(step) at a time, so that the sum does not depend on the blocks. The block
/// that ends last adds up what all have left.
void RecurrentSteps::loss(const Portion& portion) {
  const RecurrentSpec& spec = state_.spec;
  const std::size_t top = state_.layers.back().front();  // both directions lie side by side
  const std::ptrdiff_t step_panels = state_.layer_step(spec.layers - 1) / (spec.batch * lanes);
  const PanelRange part = portion.of(spec.steps * step_panels);
  for (std::ptrdiff_t panel = part.begin; panel < part.end; ++panel) {
    const std::ptrdiff_t at = panel * spec.batch * lanes;
    const std::ptrdiff_t in_step = panel % step_panels * spec.batch * lanes;
    const std::int64_t step = panel / step_panels;
    loss_of({.y = h(state_.chains[top], portion, step) + in_step,
             .target = state_.target.data() + at,
             .dy = dy(portion) + at,
             .scale = state_.loss_scale,
             .sums = state_.loss_parts.data() + panel * lanes,
             .panels = {0, spec.batch}},
            step);
  }
  if (loss_blocks_.fetch_add(1, std::memory_order_acq_rel) + 1 < portion.blocks) return;
  double sum = 0;
  for (const float value : state_.loss_parts) sum += static_cast<double>(value);
  state_.loss = static_cast<float>(0.5 * sum / state_.loss_divisor);
}

/// Of the rows whose sequence has this step; the others get no gradient. Rows side by side are one
/// call, so that without padding the sum is taken in the same order.
void RecurrentSteps::loss_of(const SquaredError& panel, std::int64_t step) const {
  const std::vector<std::int64_t>& lengths = state_.lengths;
  if (lengths.empty()) return squared_error(panel);
  std::fill_n(panel.sums, lanes, 0.0F);
  const auto rows = static_cast<std::ptrdiff_t>(lengths.size());
  const auto counts = [&](std::ptrdiff_t row) {
    return step < lengths[static_cast<std::size_t>(row)];
  };
  alignas(64) std::array<float, lanes> sums{};
  for (std::ptrdiff_t row = 0; row < rows;) {
    const std::ptrdiff_t begin = row;
    while (row < rows && counts(row) == counts(begin)) ++row;
    if (!counts(begin)) {
      std::fill(panel.dy + begin * lanes, panel.dy + row * lanes, 0.0F);
      continue;
    }
    SquaredError part = panel;
    part.sums = sums.data();
    part.panels = {begin, row};
    squared_error(part);
    for (std::ptrdiff_t lane = 0; lane < lanes; ++lane) {
      panel.sums[lane] += sums[static_cast<std::size_t>(lane)];
    }
  }
}

void RecurrentSteps::backward_cell(SubTask task, ChainState& chain, const Portion& portion) {
  const bool lstm = state_.shape.cell_state;
  const RecurrentSpec& spec = state_.spec;
  const std::int64_t before = RecurrentState::before(chain, portion.step);
  CellBackward step{.gates = gates(chain, portion),
                    .c = lstm ? c(chain, portion, portion.step) : nullptr,
                    .before = lstm ? c(chain, portion, before) : h(chain, portion, before),
                    .upstream = {},
                    .upstreams = 0,
                    .dh = chain.dh.data(),
                    .carry = chain.carry.data(),
                    .reset_gradient = chain.reset_gradient.data(),
                    .gate_gradients = gate_gradients(chain, portion, portion.step),
                    .rows = spec.batch,
                    .hidden = state_.hidden,
                    .panels = portion.of(gate_panels(1))};
  backward_inputs(chain, portion, step);
  if (lstm) return lstm_backward(step);
  if (spec.cell == RecurrentCell::gru) return gru_backward(step);
  return task == SubTask::candidate_cell ? reset_candidate_backward(step)
                                         : reset_cell_backward(step);
}

/// Of what comes from above, this direction's half.
void RecurrentSteps::backward_inputs(const ChainState& chain,
                                     const Portion& portion,
                                     CellBackward& step) {
  const std::ptrdiff_t in_step = chain.direction * state_.cells();
  const auto above = static_cast<std::size_t>(chain.layer + 1);
  if (above == state_.layers.size()) {
    step.upstream[0] = dy(portion) + portion.step * state_.layer_step(chain.layer) + in_step;
    step.upstreams = 1;
    return;
  }
  for (const std::size_t upper : state_.layers[above]) {
    step.upstream[static_cast<std::size_t>(step.upstreams)] =
        dx(state_.chains[upper], portion) + in_step;
    ++step.upstreams;
  }
}

void RecurrentSteps::candidate_hidden(ChainState& chain, const Portion& portion) {
  const std::ptrdiff_t first = state_.shape.recurrent_gates * state_.hidden;
  multiply({.a = gate_gradients(chain, portion, portion.step),
            .b = chain.wh_transposed.data() + first * lanes,
            .c = chain.reset_gradient.data(),
            .rows = state_.spec.batch,
            .k = state_.hidden,
            .b_rows = state_.shape.gates * state_.hidden},
           portion.of(gate_panels(1)));
}

void RecurrentSteps::hidden_1(ChainState& chain, const Portion& portion) {
  // Of a GRU after n of the input's product.
  const std::ptrdiff_t first = state_.shape.cell_state ? 0 : state_.cells();
  multiply({.a = gate_gradients(chain, portion, portion.step) + first,
            .b = chain.wh_transposed.data(),
            .c = chain.dh.data(),
            .rows = state_.spec.batch,
            .k = state_.shape.recurrent_gates * state_.hidden,
            .b_rows = state_.shape.gates * state_.hidden},
           portion.of(gate_panels(1)));
}

void RecurrentSteps::hidden_2(ChainState& chain, const Portion& portion) {
  multiply({.a = gate_gradients(chain, portion, portion.step),
            .b = chain.wx_transposed.data(),
            .c = dx(chain, portion),
            .rows = state_.spec.batch,
            .k = state_.shape.gates * state_.hidden,
            .b_rows = state_.shape.gates * state_.hidden},
           portion.of(chain.width / lanes));
}

}  // namespace schedlab::detail
