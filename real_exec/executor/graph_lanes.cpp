// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/graph_lanes.hpp"

#include <algorithm>
#include <cstddef>

namespace schedlab {
namespace {

/// The end of a lane so far.
struct Lane {
  StreamId stream;
  std::uint32_t nodes = 0;
};

}  // namespace

GraphLanes graph_lanes(const DeviceGraph& graph) {
  GraphLanes lanes;
  std::vector<Lane> ends;
  // Of each node and lane: how many of the lane's nodes have ended when the node has.
  std::vector<std::vector<std::uint32_t>> ended(graph.node_count());
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    std::vector<std::uint32_t>& before = ended[node];
    before.assign(ends.size(), 0);
    for (const std::uint32_t need : graph.needs(node)) {
      for (std::size_t lane = 0; lane < ended[need].size(); ++lane) {
        before[lane] = std::max(before[lane], ended[need][lane]);
      }
    }
    std::size_t chosen = ends.size();
    for (std::size_t lane = 0; lane < ends.size(); ++lane) {
      if (before[lane] != ends[lane].nodes) continue;
      const bool own = ends[lane].stream == graph.stream(node);
      if (chosen == ends.size() || own) chosen = lane;
      if (own) break;
    }
    if (chosen == ends.size()) {
      ends.push_back({.stream = graph.stream(node)});
      before.push_back(0);
    }
    before[chosen] = ++ends[chosen].nodes;
    lanes.of.push_back(static_cast<std::uint32_t>(chosen));
  }
  lanes.count = static_cast<std::uint32_t>(ends.size());
  return lanes;
}

}  // namespace schedlab
