// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_checks.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab::detail {

bool allocates_by_tensor(const RecurrentSpec& spec, TensorAllocation allocation) {
  return allocation == TensorAllocation::by_tensor || spec.recompute != Recompute::keep_backward;
}

void expect_allocable_by_tensor(const RecurrentSpec& spec, const TaskGraph& graph) {
  const bool possible = spec.cell != RecurrentCell::gru_reset_before &&
                        spec.pass == RecurrentPass::training && spec.tensors && spec.tensor_names &&
                        !graph.tensors().empty();
  if (!possible) {
    throw InfeasibleError(
        "memory is taken tensor by tensor, as recomputation needs it, for training with tensors, "
        "of "
        "lstm and gru with the reset gate after the product\n  use \"pass\": \"training\", "
        "\"reset\": \"after\", \"include_tensors\": true");
  }
  if (spec.k_major) {
    throw InfeasibleError(
        "memory is taken tensor by tensor where steps are multiplied one by one, which copies with "
        "k_major are not\n  set \"k_major\": false",
        "k_major",
        "true",
        "false");
  }
  if (spec.recompute == Recompute::keep_all) {
    throw InfeasibleError(
        "recompute keep_all: the kernels are fused and have no intermediate results to keep\n  use "
        "keep_backward");
  }
}

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
        "training over several steps: the kernels have the first step of adam only\n  set "
        "\"optimizer\": \"sgd\"",
        "optimizer",
        "adam",
        "sgd");
  }
}

void expect_trained_on(const RecurrentSpec& spec,
                       const PaddedBatch& batch,
                       const RecurrentInputs<float>& inputs) {
  expect_trained(spec);
  if (spec.bidirectional != Bidirectional::none) {
    throw InfeasibleError(
        "padded sequences: the reverse direction of a bidirectional layer would begin with the "
        "padding\n  set \"bidirectional\": \"none\"");
  }
  SCHEDLAB_EXPECTS(
      batch.x.size() == inputs.x.size() && batch.target.size() == inputs.target.size() &&
          static_cast<std::int64_t>(batch.lengths.size()) == spec.batch && batch.scale > 0 &&
          (batch.breaks.empty() ||
           static_cast<std::int64_t>(batch.breaks.size()) == spec.steps * spec.batch),
      fmt::format("padded batch: {} inputs, {} targets, {} lengths, scale {}; the "
                  "network has {}, {} and {}",
                  batch.x.size(),
                  batch.target.size(),
                  batch.lengths.size(),
                  batch.scale,
                  inputs.x.size(),
                  inputs.target.size(),
                  spec.batch));
}

}  // namespace schedlab::detail
