// SPDX-License-Identifier: Apache-2.0
// Training over several runs: other sequences, and weights that go on.
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent/recurrent_state.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::detail {
namespace {

/// In place: addresses of arrays do not change.
void copy_in_place(const PanelArray& from, PanelArray& to) {
  SCHEDLAB_EXPECTS(
      from.size() == to.size(),
      fmt::format("weights of {} elements for a network of {}", from.size(), to.size()));
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

void RecurrentState::train_on(const PaddedBatch& batch) {
  expect_trained_on(spec, batch, inputs);
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
