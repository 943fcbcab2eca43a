// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_inputs.hpp"

#include "sim/base/rng.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace schedlab {
namespace {

std::vector<float> draw(Rng& rng, std::int64_t count, double scale) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(scale * (2.0 * rng.uniform() - 1.0));
  return values;
}

}  // namespace

std::int64_t layer_directions(const RecurrentSpec& spec, std::int64_t layer) {
  const bool both = spec.bidirectional == Bidirectional::all ||
                    (spec.bidirectional == Bidirectional::first && layer == 0);
  return both ? 2 : 1;
}

std::int64_t output_width(const RecurrentSpec& spec) {
  return spec.projection > 0 ? spec.projection : spec.hidden;
}

RecurrentInputs<float> draw_recurrent_inputs(const RecurrentSpec& spec, std::uint64_t seed) {
  Rng rng{seed};
  const RecurrentCellShape& shape = cell_shape(spec.cell);
  const std::int64_t input = spec.input == 0 ? spec.hidden : spec.input;
  const std::int64_t cells = spec.batch * spec.hidden;
  const std::int64_t output = output_width(spec);
  const std::int64_t state = spec.batch * output;
  const std::int64_t outputs = spec.steps * state * layer_directions(spec, spec.layers - 1);
  RecurrentInputs<float> inputs;
  inputs.x = draw(rng, spec.steps * spec.batch * input, 1.0);
  if (spec.pass == RecurrentPass::backward) inputs.dy = draw(rng, outputs, 1.0);
  if (spec.pass == RecurrentPass::training) inputs.target = draw(rng, outputs, 1.0);
  // As frameworks do: uniform within 1 / sqrt(hidden).
  const double scale = 1.0 / std::sqrt(static_cast<double>(spec.hidden));
  const auto draw_chain = [&](std::int64_t width) {
    RecurrentChainInputs<float>& made = inputs.chains.emplace_back();
    const std::int64_t gates = shape.gates * spec.hidden;
    made.wx = draw(rng, width * gates, scale);
    made.wh = draw(rng, output * gates, scale);
    made.bias = draw(rng, shape.biases * spec.hidden, scale);
    made.h0 = draw(rng, state, 1.0);
    if (shape.cell_state) made.c0 = draw(rng, cells, 1.0);
    // In pass training nothing but the loss has a gradient.
    const double last = spec.pass == RecurrentPass::backward ? 1.0 : 0.0;
    made.dh_last = draw(rng, state, last);
    if (shape.cell_state) made.dc_last = draw(rng, cells, last);
    made.wp = draw(rng, spec.hidden * spec.projection, scale);
  };
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::int64_t width = layer == 0 ? input : layer_directions(spec, layer - 1) * output;
    for (std::int64_t d = 0; d < layer_directions(spec, layer); ++d) draw_chain(width);
  }
  return inputs;
}

}  // namespace schedlab
