// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/components.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab::detail {

/// Vertices 0, 1, ... as bits, lowest first.
using Bits = std::vector<std::uint64_t>;
[[nodiscard]] inline bool contains(std::span<const std::uint64_t> bits, std::uint32_t vertex) {
  return (bits[vertex / 64] >> (vertex % 64) & 1U) != 0;
}
inline void insert(Bits& bits, std::uint32_t vertex) {
  bits[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
}

/// Down-sets of an acyclic graph: with a vertex, all that it needs. From the empty set to the whole
/// one, smaller ones first.
class DownSets {
 public:
  /// All of them; if there are more than `most`, prefixes of six orders, then unions and
  /// intersections of prefixes as long as they fit. Edges are sorted and go upwards.
  DownSets(std::size_t vertex_count, const std::vector<Edge>& edges, std::size_t most);
  /// Prefixes of the order of the vertices' numbers, which must be one of the graph. All there are
  /// if each vertex needs the one before it.
  [[nodiscard]] static DownSets prefixes(std::size_t vertex_count, const std::vector<Edge>& edges);

  [[nodiscard]] std::size_t size() const { return only_prefixes() ? prefixes_ : sets_.size(); }
  [[nodiscard]] bool has(std::size_t set, std::uint32_t vertex) const {
    return only_prefixes() ? vertex < set : contains(sets_[set], vertex);
  }
  [[nodiscard]] bool complete() const { return complete_; }
  /// Is set `i` the vertices below i?
  [[nodiscard]] bool only_prefixes() const { return prefixes_ > 0; }
  [[nodiscard]] bool subset(std::size_t inner, std::size_t outer) const {
    if (only_prefixes()) return inner <= outer;
    const Bits& a = sets_[inner];
    const Bits& b = sets_[outer];
    for (std::size_t word = 0; word < a.size(); ++word) {
      if ((a[word] & ~b[word]) != 0) return false;
    }
    return true;
  }

 private:
  DownSets() = default;

  std::vector<Bits> sets_;    // empty: prefixes, which need no bits
  std::size_t prefixes_ = 0;  // how many
  bool complete_ = false;
};

}  // namespace schedlab::detail
