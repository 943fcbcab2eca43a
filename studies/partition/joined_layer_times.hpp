// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"
#include "sim/pipeline/layer_graph.hpp"

namespace schedlab {

/// layer_times() on the first device of a machine, with the collectives of ranks that share layers:
/// neighbours in its network.
/// Errors   InfeasibleError if the device cannot run a layer, or the machine has no network that
/// ranks who share layers need.
[[nodiscard]] IdVector<LayerId, LayerTimes> joined_layer_times(const LayerGraph& graph,
                                                               const CostModel& model,
                                                               Platform platform);

}  // namespace schedlab
