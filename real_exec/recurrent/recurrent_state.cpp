// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_state.hpp"

#include "real_exec/recurrent/bf16.hpp"
#include "real_exec/recurrent/initial_gradients.hpp"
#include "real_exec/recurrent/pointwise.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>

namespace schedlab::detail {
namespace {

std::vector<std::ptrdiff_t> in_order(std::ptrdiff_t count) {
  std::vector<std::ptrdiff_t> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// By steps of `rows` rows.
void pack_steps(const PanelMap& map,
                const std::vector<float>& plain,
                float* panels,
                std::ptrdiff_t distance) {
  const auto step = static_cast<std::size_t>(map.rows * map.block) * map.places.size();
  for (std::size_t at = 0; at < plain.size(); at += step, panels += distance) {
    map.pack(plain.data() + at, panels);
  }
}

}  // namespace

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20U;  // of x86-64; elsewhere only an alignment

/// At least half of the pages' memory is used.
bool in_huge_pages(std::size_t bytes) {
  return bytes >= huge_page / 2;
}

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{in_huge_pages(bytes) ? huge_page : 64};
}

}  // namespace

void* allocate_lines(std::size_t bytes) {
  if (!in_huge_pages(bytes)) return ::operator new(bytes, alignment_of(bytes));
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  void* memory = ::operator new(whole, alignment_of(bytes));
#ifdef __linux__
  // A wish: without it nothing but time is lost.
  static_cast<void>(madvise(memory, whole, MADV_HUGEPAGE));
#endif
  return memory;
}

void free_lines(void* memory, std::size_t bytes) {
  ::operator delete(memory, alignment_of(bytes));
}

std::ptrdiff_t PanelMap::padded_rows() const {
  return row_block == 0 ? rows : rows / row_block * padded(row_block);
}

std::ptrdiff_t PanelMap::padded_columns() const {
  return static_cast<std::ptrdiff_t>(places.size()) * padded(block);
}

template <class Visit>
void PanelMap::for_each_row(const Visit& visit) const {
  const std::ptrdiff_t inside_rows = padded_rows();
  const auto blocks = static_cast<std::ptrdiff_t>(places.size());
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const std::ptrdiff_t inside_row =
        row_block == 0 ? row : row / row_block * padded(row_block) + row % row_block;
    for (std::ptrdiff_t b = 0; b < blocks; ++b) {
      const std::ptrdiff_t place = places[static_cast<std::size_t>(b)] * padded(block);
      for (std::ptrdiff_t column = 0; column < block; column += lanes) {
        visit((row * blocks + b) * block + column,
              ((place + column) / lanes * inside_rows + inside_row) * lanes,
              std::min(lanes, block - column));
      }
    }
  }
}

void PanelMap::pack(const float* plain, float* panels) const {
  for_each_row([&](std::ptrdiff_t outside, std::ptrdiff_t inside, std::ptrdiff_t count) {
    std::copy_n(plain + outside, count, panels + inside);
  });
}

void PanelMap::unpack(const float* panels, float* plain) const {
  for_each_row([&](std::ptrdiff_t outside, std::ptrdiff_t inside, std::ptrdiff_t count) {
    std::copy_n(panels + inside, count, plain + outside);
  });
}

PanelMap output_map(const RecurrentState& state, std::int64_t layer) {
  return {.rows = state.spec.batch,
          .block = output_width(state.spec),
          .places = in_order(state.directions(layer))};
}

RecurrentState::RecurrentState(const RecurrentSpec& given, std::uint64_t seed, bool tensors_apart)
    : spec(given),
      by_tensor(tensors_apart),
      shape(cell_shape(given.cell)),
      hidden(padded(given.hidden)),
      output(padded(output_width(given))),
      loss_scale(1.0F / static_cast<float>(given.batch)),
      loss_divisor(static_cast<double>(given.batch)) {
  if (spec.input == 0) spec.input = spec.hidden;
  chains.reserve(static_cast<std::size_t>(chain_count(spec)));
  const auto slots = static_cast<std::size_t>(by_tensor ? 1 : spec.steps + 2);
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    layers.emplace_back();
    for (std::int64_t d = 0; d < directions(layer); ++d) {
      layers.back().push_back(chains.size());
      add_chain(layer, d);
    }
    y.emplace_back(slots * static_cast<std::size_t>(y_step(layer)));
  }
  const auto steps = static_cast<std::size_t>(spec.steps);
  x.resize(steps * static_cast<std::size_t>(input_step(chains.front())));
  const std::size_t outputs = steps * static_cast<std::size_t>(layer_step(spec.layers - 1));
  if (spec.pass != RecurrentPass::forward && !by_tensor) dy.resize(outputs);
  if (spec.pass == RecurrentPass::training) {
    target.resize(outputs);
    loss_parts.resize(outputs / static_cast<std::size_t>(spec.batch));
  }
  inputs = draw_recurrent_inputs(spec, seed);
  pack_inputs();
  reset();
}

void RecurrentState::add_chain(std::int64_t layer, std::int64_t direction) {
  ChainState& chain = chains.emplace_back();
  chain.layer = layer;
  chain.direction = direction;
  const std::ptrdiff_t of_below = output_width(spec);
  const std::ptrdiff_t width = layer == 0 ? spec.input : directions(layer - 1) * of_below;
  const std::ptrdiff_t width_block = layer == 0 ? spec.input : of_below;
  // recurrent_cells.hpp has the orders inside.
  std::vector<std::ptrdiff_t> wx_places = in_order(shape.gates);
  std::vector<std::ptrdiff_t> bias_places = in_order(shape.biases);
  if (spec.cell != RecurrentCell::lstm) wx_places = {1, 2, 0};
  if (spec.cell == RecurrentCell::gru) bias_places = {1, 2, 0, 3};
  if (spec.cell == RecurrentCell::gru_reset_before) bias_places = {1, 2, 0};
  chain.wx_map = {
      .rows = width, .row_block = width_block, .block = spec.hidden, .places = wx_places};
  chain.wh_map = {.rows = of_below,
                  .row_block = of_below,
                  .block = spec.hidden,
                  .places = in_order(shape.gates)};
  chain.bias_map = {.rows = 1, .block = spec.hidden, .places = bias_places};
  chain.width = chain.wx_map.padded_rows();
  for (auto* array : {&chain.wx, &chain.wx_transposed}) array->resize(chain.wx_map.size());
  for (auto* array : {&chain.wh, &chain.wh_transposed}) array->resize(chain.wh_map.size());
  if (projected()) {
    chain.wp_map = {
        .rows = spec.hidden, .row_block = spec.hidden, .block = of_below, .places = {0}};
    for (auto* array : {&chain.wp, &chain.wp_transposed}) array->resize(chain.wp_map.size());
  }
  const auto biases = static_cast<std::size_t>(shape.biases * hidden);
  chain.bias.resize(biases);
  if (spec.pass == RecurrentPass::training && spec.optimizer == Optimizer::adam) {
    chain.wx_moments.resize(2 * chain.wx.size());
    chain.wh_moments.resize(2 * chain.wh.size());
    chain.bias_moments.resize(2 * biases);
    chain.wp_moments.resize(2 * chain.wp.size());
  }
  allocate_steps(chain);
  if (spec.pass == RecurrentPass::forward) return;
  const std::size_t buffers = gradient_buffers(spec);
  chain.gradients.wx.assign(buffers, PanelArray(chain.wx.size()));
  chain.gradients.wh.assign(buffers, PanelArray(chain.wh.size()));
  chain.gradients.bias.assign(buffers, PanelArray(biases));
  chain.gradients.wp.assign(buffers, PanelArray(chain.wp.size()));
}

void RecurrentState::allocate_steps(ChainState& chain) const {
  const auto steps = static_cast<std::size_t>(spec.steps);
  const auto cell = static_cast<std::size_t>(cells());
  const auto saved = static_cast<std::size_t>(spec.cell == RecurrentCell::gru ? 4 : shape.gates);
  const bool one_task =
      spec.granularity == Granularity::coarse || spec.granularity == Granularity::data_and_weight;
  // In whole nodes the products live only inside the task.
  if (!by_tensor || one_task) chain.zh.resize(static_cast<std::size_t>(shape.gates) * cell);
  const auto gradients = steps * static_cast<std::size_t>(gate_gradient_step());
  if (!by_tensor) {
    chain.gates.resize(gradients_replace_gates() ? gradients : steps * saved * cell);
  }
  if (shape.cell_state) chain.c.resize((by_tensor ? 1 : steps + 2) * cell);
  const bool inner = shape.candidate_gates > 0 || projected();
  if (inner && !by_tensor) chain.reset.resize(steps * cell);
  if (inner && (!by_tensor || one_task)) chain.reset_gradient.resize(cell);
  if (spec.pass == RecurrentPass::forward) return;
  if (!by_tensor && !gradients_replace_gates()) chain.gate_gradients.resize(gradients);
  const auto of_output = static_cast<std::size_t>(output_cells());
  if (projected() && !by_tensor) chain.projected_gradients.resize(steps * of_output);
  chain.dh.resize(static_cast<std::size_t>(spec.hidden_1_slices) * of_output);
  chain.dh_last.resize(of_output);
  for (auto* array : {&chain.carry, &chain.carry_last}) array->resize(cell);
  if (by_tensor && chain.layer > 0) return;
  chain.dx.resize(steps * static_cast<std::size_t>(chain.width * spec.batch));
}

void RecurrentState::pack_x() {
  // Else the task transfer_in does it.
  if (spec.pass == RecurrentPass::training && spec.transfers) return;
  const PanelMap map{.rows = spec.batch, .block = spec.input, .places = {0}};
  pack_steps(map, inputs.x, x.data(), input_step(chains.front()));
  if (low()) round_to_bf16(x.data(), static_cast<std::ptrdiff_t>(x.size()));
}

void RecurrentState::pack_target() {
  if (inputs.target.empty()) return;
  const std::int64_t top = spec.layers - 1;
  pack_steps(output_map(*this, top), inputs.target, target.data(), layer_step(top));
}

void RecurrentState::pack_inputs() {
  const PanelMap state_map{.rows = spec.batch, .block = spec.hidden, .places = {0}};
  const PanelMap h_map{.rows = spec.batch, .block = output_width(spec), .places = {0}};
  pack_x();
  pack_target();
  const PanelMap top = output_map(*this, spec.layers - 1);
  if (!inputs.dy.empty()) pack_steps(top, inputs.dy, dy.data(), layer_step(spec.layers - 1));
  for (std::size_t i = 0; i < chains.size(); ++i) {
    ChainState& chain = chains[i];
    const RecurrentChainInputs<float>& given = inputs.chains[i];
    chain.wx_map.pack(given.wx.data(), chain.wx.data());
    chain.wh_map.pack(given.wh.data(), chain.wh.data());
    chain.bias_map.pack(given.bias.data(), chain.bias.data());
    if (projected()) chain.wp_map.pack(given.wp.data(), chain.wp.data());
    if (spec.pass == RecurrentPass::training) {
      chain.wx_first = chain.wx;
      chain.wh_first = chain.wh;
      chain.bias_first = chain.bias;
      chain.wp_first = chain.wp;
    }
    const std::int64_t initial = before(chain, first_step(chain));
    h_map.pack(given.h0.data(), h(chain, initial));
    if (low()) round_to_bf16(h(chain, initial), output_cells());
    if (shape.cell_state) state_map.pack(given.c0.data(), c(chain, initial));
    if (spec.pass == RecurrentPass::forward) continue;
    h_map.pack(given.dh_last.data(), chain.dh_last.data());
    if (shape.cell_state) state_map.pack(given.dc_last.data(), chain.carry_last.data());
  }
}

void RecurrentState::reset() {
  loss = 0;
  returned_loss = 0;
  for (ChainState& chain : chains) {
    const bool training = spec.pass == RecurrentPass::training;
    if (training) {
      // Copied in place: addresses of arrays do not change.
      std::copy(chain.wx_first.begin(), chain.wx_first.end(), chain.wx.begin());
      std::copy(chain.wh_first.begin(), chain.wh_first.end(), chain.wh.begin());
      std::copy(chain.bias_first.begin(), chain.bias_first.end(), chain.bias.begin());
      std::copy(chain.wp_first.begin(), chain.wp_first.end(), chain.wp.begin());
    }
    const auto transpose = [](PanelArray& w, PanelArray& transposed, const PanelMap& map) {
      if (w.empty()) return;
      transpose_weights({.w = w.data(),
                         .transposed = transposed.data(),
                         .rows = map.padded_rows(),
                         .n = map.padded_columns(),
                         .panels = {0, static_cast<std::ptrdiff_t>(w.size()) / 256}});
    };
    transpose(chain.wx, chain.wx_transposed, chain.wx_map);
    transpose(chain.wh, chain.wh_transposed, chain.wh_map);
    transpose(chain.wp, chain.wp_transposed, chain.wp_map);
    if (low()) {
      const auto round = [](const PanelArray& w, PanelArray& rounded, PanelArray& transposed) {
        rounded = w;
        for (PanelArray* array : {&rounded, &transposed}) {
          round_to_bf16(array->data(), static_cast<std::ptrdiff_t>(array->size()));
        }
      };
      round(chain.wx, chain.wx_low, chain.wx_transposed);
      round(chain.wh, chain.wh_low, chain.wh_transposed);
      round(chain.wp, chain.wp_low, chain.wp_transposed);
    }
    for (auto* array :
         {&chain.wx_moments, &chain.wh_moments, &chain.bias_moments, &chain.wp_moments}) {
      std::fill(array->begin(), array->end(), 0.0F);
    }
    std::copy(chain.dh_last.begin(), chain.dh_last.end(), chain.dh.begin());
    std::copy(chain.carry_last.begin(), chain.carry_last.end(), chain.carry.begin());
    for (auto* buffers :
         {&chain.gradients.wx, &chain.gradients.wh, &chain.gradients.bias, &chain.gradients.wp}) {
      for (PanelArray& buffer : *buffers) std::fill(buffer.begin(), buffer.end(), 0.0F);
    }
  }
}

const float* RecurrentState::input(const ChainState& chain, std::int64_t step) const {
  if (chain.layer == 0) return x.data() + step * input_step(chain);
  return y[static_cast<std::size_t>(chain.layer - 1)].data() + (step + 1) * input_step(chain);
}

std::ptrdiff_t RecurrentState::input_step(const ChainState& chain) const {
  return chain.layer == 0 ? padded(spec.input) * spec.batch + panel() : y_step(chain.layer - 1);
}

float* RecurrentState::h(const ChainState& chain, std::int64_t step) {
  return y[static_cast<std::size_t>(chain.layer)].data() +
         (by_tensor ? 0 : (step + 1) * h_step(chain)) + chain.direction * output_cells();
}

std::ptrdiff_t RecurrentState::h_step(const ChainState& chain) const {
  return y_step(chain.layer);
}

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
                              &chain.wp,
                              &chain.wx_moments,
                              &chain.wh_moments,
                              &chain.bias_moments,
                              &chain.wp_moments,
                              &chain.gates,
                              &chain.c,
                              &chain.reset,
                              &chain.projected_gradients,
                              &chain.gate_gradients,
                              &chain.dh,
                              &chain.carry,
                              &chain.dx}) {
      floats += array->size();
    }
    for (const auto* buffers :
         {&chain.gradients.wx, &chain.gradients.wh, &chain.gradients.bias, &chain.gradients.wp}) {
      for (const PanelArray& buffer : *buffers) floats += buffer.size();
    }
  }
  return Bytes{static_cast<std::int64_t>(floats * sizeof(float))};
}

Bytes RecurrentState::workspace_bytes() const {
  std::size_t floats =
      loss_parts.size() + inputs.x.size() + inputs.dy.size() + inputs.target.size();
  for (const ChainState& chain : chains) {
    for (const auto* array : {&chain.wx_low,
                              &chain.wh_low,
                              &chain.wp_low,
                              &chain.wx_transposed,
                              &chain.wh_transposed,
                              &chain.wp_transposed,
                              &chain.wx_first,
                              &chain.wh_first,
                              &chain.bias_first,
                              &chain.wp_first,
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
                              &given.wp,
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
  if (projected()) results.wp = unpack(chain.wp_map, chain.wp);
  if (spec.pass == RecurrentPass::forward) return results;
  results.dwx = unpack(chain.wx_map, chain.gradients.wx.front());
  results.dwh = unpack(chain.wh_map, chain.gradients.wh.front());
  results.dbias = unpack(chain.bias_map, chain.gradients.bias.front());
  if (projected()) results.dwp = unpack(chain.wp_map, chain.gradients.wp.front());
  const PanelMap map{.rows = spec.batch, .block = spec.hidden, .places = {0}};
  const PanelMap h_map{.rows = spec.batch, .block = output_width(spec), .places = {0}};
  set_initial_gradients(
      results, unpack(h_map, chain.dh), unpack(map, chain.carry), shape.cell_state);
  if (truncated(spec)) {
    std::fill(results.dh0.begin(), results.dh0.end(), 0.0F);
    std::fill(results.dc0.begin(), results.dc0.end(), 0.0F);
  }
  return results;
}

RecurrentResults<float> RecurrentState::results() const {
  RecurrentResults<float> results;
  results.loss = spec.transfers ? returned_loss : loss;
  for (const ChainState& chain : chains) results.chains.push_back(chain_results(chain));

  const std::int64_t top = spec.layers - 1;
  const PanelMap map = output_map(*this, top);
  const auto step_elements =
      static_cast<std::size_t>(spec.batch * output_width(spec) * directions(top));
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

namespace {

/// In place: addresses of arrays do not change.
void copy_in_place(const PanelArray& from, PanelArray& to) {
  SCHEDLAB_EXPECTS(
      from.size() == to.size(),
      fmt::format("weights of {} elements for a network of {}", from.size(), to.size()));
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

void RecurrentState::find_breaks(const PaddedBatch& batch) {
  breaks.assign(batch.breaks.empty() ? 0 : static_cast<std::size_t>(spec.steps), {});
  for (std::size_t at = 0; at < batch.breaks.size(); ++at) {
    if (batch.breaks[at] == 0) continue;
    const auto rows = static_cast<std::size_t>(spec.batch);
    breaks[at / rows].push_back(static_cast<std::ptrdiff_t>(at % rows));
  }
}

void RecurrentState::train_on(const PaddedBatch& batch) {
  expect_trained_on(spec, batch, inputs);
  inputs.x = batch.x;
  inputs.target = batch.target;
  lengths = batch.lengths;
  find_breaks(batch);
  loss_scale = batch.scale;
  loss_divisor = 1.0 / static_cast<double>(batch.scale);
  pack_x();
  pack_target();
  for (std::size_t i = 0; i < chains.size(); ++i) {
    ChainState& chain = chains[i];
    const std::int64_t initial = before(chain, first_step(chain));
    std::fill_n(h(chain, initial), output_cells(), 0.0F);
    if (shape.cell_state) std::fill_n(c(chain, initial), cells(), 0.0F);
    for (auto* state : {&inputs.chains[i].h0, &inputs.chains[i].c0}) {
      std::fill(state->begin(), state->end(), 0.0F);
    }
  }
}

void RecurrentState::continue_from(const RecurrentState& other) {
  expect_trained(spec);
  SCHEDLAB_EXPECTS(
      other.chains.size() == chains.size() && other.spec.cell == spec.cell,
      fmt::format("weights of {} chains for a network of {}", other.chains.size(), chains.size()));
  for (std::size_t i = 0; i < chains.size(); ++i) {
    copy_in_place(other.chains[i].wx, chains[i].wx_first);
    copy_in_place(other.chains[i].wh, chains[i].wh_first);
    copy_in_place(other.chains[i].bias, chains[i].bias_first);
    copy_in_place(other.chains[i].wp, chains[i].wp_first);
  }
}

}  // namespace schedlab::detail
