// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_steps.hpp"

#include "real_exec/recurrent/gemm_panels.hpp"
#include "real_exec/recurrent/pointwise.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace schedlab::detail {
void RecurrentSteps::run(SubTask task, const Portion& portion) {
  compute(task, portion);
  if (state_.low()) round_stored(task, portion);
}

void RecurrentSteps::compute(SubTask task, const Portion& portion) {
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
    case SubTask::projection_gemm:
      return projection_gemm(chain, portion);
    case SubTask::projection_sum:
      return projection_sum(chain, portion);
    case SubTask::projection_hidden:
      return projection_hidden(chain, portion);
    case SubTask::hidden_1:
      return hidden_1(chain, portion);
    case SubTask::hidden_2:
      return hidden_2(chain, portion);
    case SubTask::transpose_input:
    case SubTask::transpose_state:
    case SubTask::transpose_gradients:
      return;  // panels are read along the sum as they lie
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
      if (state_.projected()) run(SubTask::projection_gemm, all);
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
            .b = state_.factor(chain.wx, chain.wx_low),
            .c = products(chain, portion),
            .rows = state_.spec.batch,
            .k = chain.width,
            .b_rows = chain.width},
           portion.of(gate_panels(state_.shape.gates)));
}

void RecurrentSteps::recurrent_gemm(ChainState& chain, const Portion& portion) {
  multiply({.a = h(chain, portion, RecurrentState::before(chain, portion.step)),
            .b = state_.factor(chain.wh, chain.wh_low),
            .c = recurrent_products(chain, portion),
            .rows = state_.spec.batch,
            .k = state_.output,
            .b_rows = state_.output},
           portion.of(gate_panels(state_.shape.recurrent_gates)));
}

void RecurrentSteps::projection_gemm(ChainState& chain, const Portion& portion) {
  multiply({.a = inner(chain, portion, portion.step),
            .b = state_.factor(chain.wp, chain.wp_low),
            .c = h(chain, portion, portion.step),
            .rows = state_.spec.batch,
            .k = state_.hidden,
            .b_rows = state_.hidden},
           portion.of(output_panels()));
}

void RecurrentSteps::candidate_gemm(ChainState& chain, const Portion& portion) {
  const std::ptrdiff_t first = gate_panels(state_.shape.recurrent_gates);
  const PanelRange panels = portion.of(gate_panels(1));
  multiply({.a = inner(chain, portion, portion.step),
            .b = state_.factor(chain.wh, chain.wh_low),
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
  if (task == SubTask::cell_values) {
    if (state_.projected()) {
      step.c = c(chain, portion, portion.step);
      step.h = inner(chain, portion, portion.step);
    }
    return lstm ? lstm_values(step) : gru_values(step);
  }
  step.before = lstm ? c(chain, portion, before) : h(chain, portion, before);
  step.h =
      state_.projected() ? inner(chain, portion, portion.step) : h(chain, portion, portion.step);
  if (lstm) {
    step.c = c(chain, portion, portion.step);
    lstm_forward(step);
    clear_breaks(step.c, portion);
    return clear_breaks(step.h, portion);
  }
  if (state_.spec.cell == RecurrentCell::gru) {
    gru_forward(step);
    return clear_breaks(step.h, portion);
  }
  step.reset = inner(chain, portion, portion.step);
  if (task == SubTask::gates_forward) return reset_gates_forward(step);
  reset_cell_forward(step);
  clear_breaks(step.h, portion);
}

void RecurrentSteps::clear_rows(float* array, const Portion& portion) const {
  const std::ptrdiff_t panel = state_.spec.batch * lanes;
  const PanelRange mine = portion.of(gate_panels(1));
  std::fill(array + mine.begin * panel, array + mine.end * panel, 0.0F);
}

void RecurrentSteps::clear_breaks(float* array, const Portion& portion) const {
  if (state_.breaks.empty()) return;
  const PanelRange panels = portion.of(gate_panels(1));
  for (const std::ptrdiff_t row : state_.breaks[static_cast<std::size_t>(portion.step)]) {
    for (std::ptrdiff_t panel = panels.begin; panel < panels.end; ++panel) {
      std::fill_n(array + (panel * state_.spec.batch + row) * lanes, lanes, 0.0F);
    }
  }
}

/// One row of panels of y(step) at a time, so that the sum does not depend on the blocks. The block
/// that ends last adds up what all have left.
void RecurrentSteps::loss(const Portion& portion) {
  const RecurrentSpec& spec = state_.spec;
  const std::size_t top = state_.layers.back().front();  // both directions lie side by side
  const std::ptrdiff_t step_panels = state_.layer_step(spec.layers - 1) / (spec.batch * lanes);
  const std::int64_t first = portion.step;
  const std::int64_t steps = std::min(segment_steps(spec), spec.steps - first);
  const PanelRange part = portion.of(steps * step_panels);
  for (std::ptrdiff_t panel = first * step_panels + part.begin;
       panel < first * step_panels + part.end;
       ++panel) {
    const std::ptrdiff_t at = panel * spec.batch * lanes;
    const std::ptrdiff_t in_step = panel % step_panels * spec.batch * lanes;
    const std::int64_t step = panel / step_panels;
    loss_of({.y = h(state_.chains[top], portion, step) + in_step,
             .target = state_.target.data() + at,
             .dy = dy(portion, step) + in_step,
             .scale = state_.loss_scale,
             .sums = state_.loss_parts.data() + panel * lanes,
             .panels = {0, spec.batch}},
            step);
  }
  if (loss_blocks_.fetch_add(1, std::memory_order_acq_rel) + 1 < portion.blocks) return;
  loss_blocks_ = 0;
  double sum = 0;  // with the segments before
  const auto end = state_.loss_parts.begin() + (first + steps) * step_panels * lanes;
  for (auto value = state_.loss_parts.begin(); value != end; ++value)
    sum += static_cast<double>(*value);
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
    if (step >= lengths[static_cast<std::size_t>(row)]) return false;
    if (state_.breaks.empty()) return true;
    const auto& breaks = state_.breaks[static_cast<std::size_t>(step)];
    return !std::binary_search(breaks.begin(), breaks.end(), row);
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
                    .slices = slices_read(spec, chain.direction, portion.step),
                    .carry = chain.carry.data(),
                    .reset_gradient = chain.reset_gradient.data(),
                    .gate_gradients = gate_gradients(chain, portion, portion.step),
                    .rows = spec.batch,
                    .hidden = state_.hidden,
                    .panels = portion.of(gate_panels(1))};
  if (state_.projected()) {
    step.dh = inner_gradient(chain, portion);
    step.slices = 1;
  } else {
    step.upstreams = upstream_gradients(chain, portion, step.upstream);
  }
  // A cell in two parts takes what arrives in the first.
  const bool arrives = task == SubTask::candidate_cell || state_.shape.candidate_gates == 0;
  if (arrives && ends_segment(portion.step)) {
    if (!state_.projected()) step.dh = chain.dh_last.data();  // zero
    clear_rows(step.carry, portion);
  }
  if (lstm) {
    lstm_backward(step);
  } else if (spec.cell == RecurrentCell::gru) {
    gru_backward(step);
  } else if (task == SubTask::candidate_cell) {
    reset_candidate_backward(step);
  } else {
    reset_cell_backward(step);
  }
  // Nothing passes from a sequence to the one before it in its row.
  clear_breaks(step.carry, portion);
  for (std::int64_t gate = 0; gate < state_.shape.gate_gradients; ++gate) {
    clear_breaks(step.gate_gradients + gate * state_.cells(), portion);
  }
}

/// Of what comes from above, this direction's half.
int RecurrentSteps::upstream_gradients(const ChainState& chain,
                                       const Portion& portion,
                                       std::array<const float*, 2>& upstream) {
  const std::ptrdiff_t in_step = chain.direction * state_.output_cells();
  const auto above = static_cast<std::size_t>(chain.layer + 1);
  if (above == state_.layers.size()) {
    upstream[0] = dy(portion, portion.step) + in_step;
    return 1;
  }
  int count = 0;
  for (const std::size_t upper : state_.layers[above]) {
    upstream[static_cast<std::size_t>(count++)] = dx(state_.chains[upper], portion) + in_step;
  }
  return count;
}

void RecurrentSteps::projection_sum(ChainState& chain, const Portion& portion) {
  const std::ptrdiff_t rows = state_.spec.batch;
  const PanelRange mine = portion.of(output_panels());
  GradientSum sum{.to = projected_gradient(chain, portion, portion.step),
                  .dh = ends_segment(portion.step) ? chain.dh_last.data() : chain.dh.data(),
                  .slices = slices_read(state_.spec, chain.direction, portion.step),
                  .slice_step = state_.output_cells(),
                  .panels = {mine.begin * rows, mine.end * rows}};
  sum.upstreams = upstream_gradients(chain, portion, sum.upstream);
  sum_gradients(sum);
}

void RecurrentSteps::projection_hidden(ChainState& chain, const Portion& portion) {
  multiply({.a = projected_gradient(chain, portion, portion.step),
            .b = chain.wp_transposed.data(),
            .c = inner_gradient(chain, portion),
            .rows = state_.spec.batch,
            .k = state_.output,
            .b_rows = state_.output},
           portion.of(gate_panels(1)));
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
  const std::ptrdiff_t rows = state_.spec.batch;
  const std::int64_t slices = slices_written(state_.spec, chain.direction, portion.step);
  const std::ptrdiff_t panels = output_panels();
  const PanelRange mine = portion.of(slices * panels);
  for (std::int64_t slice = mine.begin / panels; slice * panels < mine.end; ++slice) {
    const PanelRange terms = share(gate_panels(state_.shape.recurrent_gates),
                                   static_cast<std::size_t>(slice),
                                   static_cast<std::size_t>(slices));
    const std::ptrdiff_t of_slice = slice * panels;
    multiply(
        {.a = gate_gradients(chain, portion, portion.step) + first + terms.begin * rows * lanes,
         .b = chain.wh_transposed.data() + terms.begin * lanes * lanes,
         .c = chain.dh.data() + slice * state_.output_cells(),
         .rows = rows,
         .k = (terms.end - terms.begin) * lanes,
         .b_rows = state_.shape.gates * state_.hidden},
        {std::max<std::ptrdiff_t>(mine.begin - of_slice, 0),
         std::min<std::ptrdiff_t>(mine.end - of_slice, panels)});
  }
}

void RecurrentSteps::hidden_2(ChainState& chain, const Portion& portion) {
  if (steps_apart(portion)) {
    for (const Portion& one : single_steps(chain, portion)) hidden_2(chain, one);
    return;
  }
  multiply({.a = gate_gradients(chain, portion, portion.step),
            .b = chain.wx_transposed.data(),
            .c = dx(chain, portion),
            .rows = state_.spec.batch,
            .k = state_.shape.gates * state_.hidden,
            .b_rows = state_.shape.gates * state_.hidden,
            .steps = portion.steps,
            .a_step = -summed_direction(chain) * gate_gradient_step(),
            .c_step = -summed_direction(chain) * chain.width * state_.spec.batch},
           portion.of(chain.width / lanes));
}

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
                    .features = state_.output,
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
  } else if (state_.projected()) {
    sum.a = inner(chain, portion, first);
    sum.a_step = direction * cells;
    sum.d = projected_gradient(chain, portion, first);
    sum.d_step = direction * state_.output_cells();
    sum.c = chain.gradients.wp[at].data();
    sum.features = state_.hidden;
    return accumulate(sum, portion.of(output_panels()));
  } else {
    gates = 1;
    sum.a = inner(chain, portion, first);
    sum.a_step = direction * cells;
    sum.features = state_.hidden;
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
      if (state_.projected()) return sum(gradients.wp, 0, registers(gradients.wp.front()));
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
                       std::ptrdiff_t rows,
                       std::ptrdiff_t columns) {
    const std::ptrdiff_t units = registers(w) / (transposed == nullptr ? 1 : lanes);
    update_weights({.w = w.data(),
                    .transposed = transposed,
                    .gradient = gradient.data(),
                    .mean = adam ? moments.data() : nullptr,
                    .variance = adam ? moments.data() + w.size() : nullptr,
                    .rate = rate,
                    .rows = rows,
                    .n = columns,
                    .panels = portion.of(units)});
  };
  const std::ptrdiff_t gates = state_.shape.gates * state_.hidden;
  one(chain.wx,
      chain.wx_transposed.data(),
      chain.gradients.wx.front(),
      chain.wx_moments,
      chain.width,
      gates);
  one(chain.wh,
      chain.wh_transposed.data(),
      chain.gradients.wh.front(),
      chain.wh_moments,
      state_.output,
      gates);
  one(chain.bias, nullptr, chain.gradients.bias.front(), chain.bias_moments, 1, gates);
  if (!state_.projected()) return;
  one(chain.wp,
      chain.wp_transposed.data(),
      chain.gradients.wp.front(),
      chain.wp_moments,
      state_.hidden,
      state_.output);
}

std::vector<StepTensorMap::Chain> RecurrentSteps::step_arrays() const {
  const RecurrentCellShape& shape = state_.shape;
  const auto cells = static_cast<std::size_t>(state_.cells());
  std::vector<StepTensorMap::Chain> all;
  for (const ChainState& chain : state_.chains) {
    const auto width = static_cast<std::size_t>(chain.width * state_.spec.batch);
    const auto times = [&](std::int64_t count) { return static_cast<std::size_t>(count) * cells; };
    const auto outputs = static_cast<std::size_t>(state_.layer_step(chain.layer));
    StepTensorMap::Chain& arrays = all.emplace_back();
    const std::size_t inner = state_.projected() ? cells : 0;
    // In the order of StepTensor: zx, zh, gates, c, h, dG, dx, m, dm, dp, dy.
    arrays.elements = {times(shape.gates),
                       times(shape.recurrent_gates),
                       times(shape.saved_gates),
                       times(shape.cell_state ? 1 : 0),
                       outputs,
                       times(shape.gate_gradients),
                       width,
                       inner,
                       inner,
                       state_.projected() ? static_cast<std::size_t>(state_.output_cells()) : 0,
                       0};
    arrays.outputs_in = state_.layers[static_cast<std::size_t>(chain.layer)].front();
    arrays.outputs_at = static_cast<std::size_t>(chain.direction * state_.output_cells());
  }
  const std::size_t top = state_.layers.back().front();
  all[top].elements[static_cast<std::size_t>(StepTensor::output_gradients)] =
      static_cast<std::size_t>(segment_steps(state_.spec) *
                               state_.layer_step(state_.spec.layers - 1));
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

float* RecurrentSteps::inner(ChainState& chain, const Portion& portion, std::int64_t step) const {
  float* const apart = own(StepTensor::inner, chain, portion, step);
  return apart != nullptr ? apart : chain.reset.data() + step * state_.cells();
}

float* RecurrentSteps::inner_gradient(ChainState& chain, const Portion& portion) const {
  float* const apart = own(StepTensor::inner_gradients, chain, portion, portion.step);
  return apart != nullptr ? apart : chain.reset_gradient.data();
}

float* RecurrentSteps::projected_gradient(ChainState& chain,
                                          const Portion& portion,
                                          std::int64_t step) const {
  float* const apart = own(StepTensor::projected_gradients, chain, portion, step);
  return apart != nullptr ? apart : chain.projected_gradients.data() + step * state_.output_cells();
}

const float* RecurrentSteps::input(const ChainState& chain,
                                   const Portion& portion,
                                   std::int64_t step) const {
  if (tensors_ == nullptr || chain.layer == 0) return state_.input(chain, step);
  // Both directions lie side by side, from the first one on.
  const std::size_t below = state_.layers[static_cast<std::size_t>(chain.layer - 1)].front();
  return own(StepTensor::h, state_.chains[below], portion, step);
}

float* RecurrentSteps::dy(const Portion& portion, std::int64_t step) {
  const std::size_t top = state_.layers.back().front();
  const std::ptrdiff_t distance = state_.layer_step(state_.spec.layers - 1);
  const std::int64_t first = first_of_segment(step);
  float* const apart = own(StepTensor::output_gradients, state_.chains[top], portion, first);
  return apart != nullptr ? apart + (step - first) * distance : state_.dy.data() + step * distance;
}

float* RecurrentSteps::dx(ChainState& chain, const Portion& portion) const {
  if (tensors_ != nullptr && chain.layer > 0) {
    return own(StepTensor::input_gradients, chain, portion, portion.step);
  }
  return chain.dx.data() + portion.step * chain.width * state_.spec.batch;
}

}  // namespace schedlab::detail
