// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_paths.hpp"

#include <algorithm>

namespace schedlab::checker {

GraphPaths::GraphPaths(const DeviceGraph& graph)
    : graph_(graph),
      place_(graph.node_count()),
      users_left_(graph.node_count(), 0),
      rows_(graph.node_count()) {
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    for (const std::uint32_t need : graph.needs(node)) ++users_left_[need];
  }
}

void GraphPaths::join(const std::vector<std::uint32_t>& other) {
  if (other.size() > row_.size()) row_.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) row_[i] = std::max(row_[i], other[i]);
}

void GraphPaths::advance() {
  const std::uint32_t node = next_++;
  row_.clear();
  Place& place = place_[node];
  for (const std::uint32_t need : graph_.needs(node)) {
    join(rows_[need]);
    const Place& before = place_[need];
    const bool free = place.position == 0 && length_[before.chain] == before.position;
    if (free) place = {before.chain, ++length_[before.chain]};
    if (--users_left_[need] == 0) std::vector<std::uint32_t>{}.swap(rows_[need]);
  }
  if (place.position == 0) {
    place = {static_cast<std::uint32_t>(length_.size()), 1};
    length_.push_back(1);
  }
  if (users_left_[node] == 0) return;
  rows_[node] = row_;
  if (rows_[node].size() <= place.chain) rows_[node].resize(place.chain + 1, 0);
  rows_[node][place.chain] = place.position;
}

}  // namespace schedlab::checker
