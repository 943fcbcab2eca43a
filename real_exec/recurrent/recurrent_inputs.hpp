// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>

namespace schedlab {

/// Directions of a layer of the stack: 1 or 2.
[[nodiscard]] std::int64_t layer_directions(const RecurrentSpec& spec, std::int64_t layer);

/// Width of h: the projection, or the hidden state.
[[nodiscard]] std::int64_t output_width(const RecurrentSpec& spec);

/// What a run of `spec` with `seed` is given, the same numbers on every device: sequences and
/// states uniform in [-1, 1), weights and biases in [-1, 1) / sqrt(hidden). Gradients of final
/// states are zero but in pass backward. An input width of 0 means hidden.
[[nodiscard]] RecurrentInputs<float> draw_recurrent_inputs(const RecurrentSpec& spec,
                                                           std::uint64_t seed);

}  // namespace schedlab
