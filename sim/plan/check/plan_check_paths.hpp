// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: which nodes of a device graph come before which.
#pragma once

#include "sim/plan/device_graph.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::checker {

/// Answers "is there a path from this node to that one?" for nodes in rising order.
///
/// Nodes are laid into chains (a node continues the chain of one of its needs, if no other node
/// does already); a node's row says for each chain how much of it is before the node. A row is kept
/// until the last node that needs it is done.
///
/// Cost  O(edges * chains) time; memory O(nodes + chains * nodes whose successors are not yet
/// done).
class GraphPaths {
 public:
  explicit GraphPaths(const DeviceGraph& graph);

  /// Goes to the next node; to be called once for each, from 0.
  void advance();
  /// Is there a path from `before` to the present node? `before` must be a lower number.
  [[nodiscard]] bool reaches(std::uint32_t before) const {
    const auto [chain, position] = place_[before];
    return chain < row_.size() && row_[chain] >= position;
  }

 private:
  struct Place {
    std::uint32_t chain = 0;
    std::uint32_t position = 0;  // from 1
  };

  void join(const std::vector<std::uint32_t>& other);

  const DeviceGraph& graph_;
  std::uint32_t next_ = 0;
  std::vector<Place> place_;                      // by node
  std::vector<std::uint32_t> length_;             // by chain
  std::vector<std::uint32_t> users_left_;         // by node: nodes that need it, not yet visited
  std::vector<std::vector<std::uint32_t>> rows_;  // by node; empty once it is not needed any more
  std::vector<std::uint32_t> row_;                // of the present node: before it starts
};

}  // namespace schedlab::checker
