// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/interleave.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

/// How far a chain has come.
struct Position {
  std::size_t next = 0;
  Duration ready{0};  ///< its last collective ends
};

/// Until the next collective of the chain; max: it has none.
Duration left_before_collective(const std::vector<ChainTask>& chain, std::size_t next) {
  Duration left{0};
  for (; next < chain.size(); ++next) {
    if (chain[next].collective) return left;
    left += chain[next].duration;
  }
  return Duration::max();
}

}  // namespace

std::vector<std::size_t> interleave(const std::vector<std::vector<ChainTask>>& chains) {
  std::vector<Position> positions(chains.size());
  std::vector<std::size_t> order;
  Duration computed{0};
  Duration communicated{0};
  const auto done = [&](std::size_t i) { return positions[i].next == chains[i].size(); };
  while (true) {
    Duration earliest = Duration::max();
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (!done(i)) earliest = std::min(earliest, positions[i].ready);
    }
    if (earliest == Duration::max()) return order;
    computed = std::max(computed, earliest);
    std::pair best{Duration::max(), chains.size()};
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (done(i) || positions[i].ready > computed) continue;
      best = std::min(best, {left_before_collective(chains[i], positions[i].next), i});
    }
    Position& position = positions[best.second];
    const ChainTask& task = chains[best.second][position.next++];
    order.push_back(best.second);
    if (task.collective) {
      communicated = std::max(communicated, computed) + task.duration;
      position.ready = communicated;
    } else {
      computed += task.duration;
    }
  }
}

}  // namespace schedlab
