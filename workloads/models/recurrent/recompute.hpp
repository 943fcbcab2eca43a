// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

/// What the forward pass of a recurrent network leaves in memory for the backward pass; the rest is
/// computed once more. "State" is h (and c), "values" are what comes out of the activations.
enum class Recompute : std::uint8_t {
  keep_all,       ///< every intermediate result, as a framework of single operators keeps them
  keep_backward,  ///< what the backward kernels read: state and values of every step
  data_drop,      ///< the state of every step; values again, cell by cell (system S2)
  sqrt,           ///< the state at every s-th step, s for least memory; segment by segment again
  optimal,        ///< the state at so many steps as asked for, with least forward work
};
template <>
struct EnumNames<Recompute> {
  static constexpr auto names =
      name_list("keep_all", "keep_backward", "data_drop", "sqrt", "optimal");
};

/// One step of all layers, in the order of a training step after its first forward pass.
struct ChainAction {
  bool forward = false;  ///< computed once more; else run backward
  std::int64_t step = 0;

  friend bool operator==(const ChainAction&, const ChainAction&) = default;
};

/// Steps in a segment of `sqrt`: least memory for state and values of `cell`
/// (min_memory_segments()).
[[nodiscard]] std::int64_t checkpoint_segment(RecurrentCell cell, std::int64_t steps);
/// Steps whose state `sqrt` keeps, besides the input of step 0; what `optimal` keeps if asked for
/// 0.
[[nodiscard]] std::int64_t default_checkpoints(RecurrentCell cell, std::int64_t steps);

/// The rest of a training step whose first pass ran forward through all steps and kept the values
/// of the last segment: each segment before it forward from its kept state, then backward.
[[nodiscard]] std::vector<ChainAction> segmented_actions(std::int64_t steps, std::int64_t segment);

/// The same with `slots` kept states besides the input of step 0, in as few forward steps as there
/// can be, min_forward_steps(steps, slots) with those of the first pass. A forward action whose
/// step is run backward next is the one whose values are used.
/// ContractViolation for no steps or negative slots. Cost O(actions + distinct intervals * steps).
[[nodiscard]] std::vector<ChainAction> checkpointed_actions(std::int64_t steps, std::int64_t slots);

}  // namespace schedlab
