// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/layer_graph.hpp"

#include <array>
#include <cstddef>

namespace schedlab::detail {

/// What a microbatch does in a layer, as the keys of layer files begin.
inline constexpr std::array<const char*, 4> layer_pass_names{
    "forward", "backward_data", "backward_weight", "update"};

/// LayerPass by these words.
inline constexpr std::size_t layer_join_passes = 3;

/// The operation of each.
inline constexpr std::array<OperationId Layer::*, 4> layer_pass_members{
    &Layer::forward, &Layer::backward_data, &Layer::backward_weight, &Layer::update};

}  // namespace schedlab::detail
