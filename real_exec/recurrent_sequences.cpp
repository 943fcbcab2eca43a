// SPDX-License-Identifier: Apache-2.0
// Training over several runs: other sequences, and weights that go on.
#include "real_exec/recurrent_state.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::detail {
namespace {

void expect_trained(const RecurrentSpec& spec) {
  if (spec.pass != RecurrentPass::training) {
    throw InfeasibleError(
        "sequences are trained on by whole training steps\n  set \"pass\": \"training\"",
        "pass",
        spec.pass == RecurrentPass::forward ? "forward" : "backward",
        "training");
  }
  if (spec.optimizer != Optimizer::sgd) {
    throw InfeasibleError(
        "training over several steps: the kernels for the CPU have the first step of adam only\n  "
        "set \"optimizer\": \"sgd\"",
        "optimizer",
        "adam",
        "sgd");
  }
}

void expect_sizes(const PaddedBatch& batch,
                  const RecurrentInputs<float>& inputs,
                  std::int64_t rows) {
  SCHEDLAB_EXPECTS(batch.x.size() == inputs.x.size() &&
                       batch.target.size() == inputs.target.size() &&
                       static_cast<std::int64_t>(batch.lengths.size()) == rows && batch.scale > 0,
                   fmt::format("padded batch: {} inputs, {} targets, {} lengths, scale {}; the "
                               "network has {}, {} and {}",
                               batch.x.size(),
                               batch.target.size(),
                               batch.lengths.size(),
                               batch.scale,
                               inputs.x.size(),
                               inputs.target.size(),
                               rows));
}

/// In place: addresses of arrays do not change.
void copy_in_place(const PanelArray& from, PanelArray& to) {
  SCHEDLAB_EXPECTS(
      from.size() == to.size(),
      fmt::format("weights of {} elements for a network of {}", from.size(), to.size()));
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

void RecurrentState::train_on(const PaddedBatch& batch) {
  expect_trained(spec);
  if (spec.bidirectional != Bidirectional::none) {
    throw InfeasibleError(
        "padded sequences: the reverse direction of a bidirectional layer would begin with the "
        "padding\n  set \"bidirectional\": \"none\"");
  }
  expect_sizes(batch, inputs, spec.batch);
  inputs.x = batch.x;
  inputs.target = batch.target;
  lengths = batch.lengths;
  loss_scale = batch.scale;
  loss_divisor = 1.0 / static_cast<double>(batch.scale);
  pack_x();
  pack_target();
  for (std::size_t i = 0; i < chains.size(); ++i) {
    ChainState& chain = chains[i];
    const std::int64_t initial = before(chain, first_step(chain));
    std::fill_n(h(chain, initial), cells(), 0.0F);
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
  }
}

}  // namespace schedlab::detail
