// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/device_graph.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Cuts the nodes of a graph into lanes, each of which the needs order one after another: nodes of
/// one lane can share what two that run at once must not, such as the workspace of a library.
struct GraphLanes {
  std::vector<std::uint32_t> of;  ///< by node
  std::uint32_t count = 0;
};

/// A node goes on in the lane of its stream where that is possible, which in a captured plan it
/// always is; else in another lane that ended before it, else in a new one.
/// Cost O(nodes * lanes) time and memory, and O(edges * lanes) time.
[[nodiscard]] GraphLanes graph_lanes(const DeviceGraph& graph);

}  // namespace schedlab
