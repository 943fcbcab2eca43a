// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/least_loaded.hpp"

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::uint32_t max_free_slots = 1U << 20U;  // of blocks that need nothing

/// Blocks that are placed while a unit with more than `level` of capacity is left.
std::uint64_t placed_above(const std::vector<std::uint32_t>& free_slots, std::uint32_t level) {
  std::uint64_t sum = 0;
  for (const std::uint32_t r : free_slots) sum += r > level ? r - level : 0;
  return sum;
}

}  // namespace

std::uint32_t LeastLoadedPlacement::place(std::vector<UnitResources>& free,
                                          const UnitResources& need,
                                          std::uint32_t wanted,
                                          std::vector<UnitShare>& placed) {
  free_slots_.resize(free.size());
  std::uint32_t most = 0;
  for (std::size_t unit = 0; unit < free.size(); ++unit) {
    // Neighbours are mostly alike.
    free_slots_[unit] = unit > 0 && free[unit] == free[unit - 1]
                            ? free_slots_[unit - 1]
                            : free[unit].times(need, max_free_slots);
    most = std::max(most, free_slots_[unit]);
  }
  // Each block takes one off the largest capacity, so all units above some level come down to it,
  // and the first of those on it get one more.
  std::uint32_t level = 0;
  for (std::uint32_t high = most; level < high;) {
    const std::uint32_t middle = level + (high - level) / 2;
    if (placed_above(free_slots_, middle) <= wanted) {
      high = middle;
    } else {
      level = middle + 1;
    }
  }
  std::uint64_t left = wanted - placed_above(free_slots_, level);
  std::uint32_t sum = 0;
  for (std::uint32_t unit = 0; unit < free_slots_.size(); ++unit) {
    std::uint32_t blocks = free_slots_[unit] > level ? free_slots_[unit] - level : 0;
    if (left > 0 && level > 0 && free_slots_[unit] >= level) {
      ++blocks;
      --left;
    }
    if (blocks == 0) continue;
    free[unit].take(need, static_cast<std::int32_t>(blocks));
    placed.push_back({unit, blocks});
    sum += blocks;
  }
  return sum;
}

}  // namespace schedlab
