// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/occupancy.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Blocks of one kernel on one unit.
struct UnitShare {
  std::uint32_t unit = 0;
  std::uint32_t blocks = 0;

  friend bool operator==(const UnitShare&, const UnitShare&) = default;
};

/// Places blocks of one kernel one after another, each on the least loaded unit: where the
/// largest number of further such blocks fit. Among equals the unit with the lowest number.
///
/// Source  that a block goes to the unit with the most free resources, and not round-robin: Gilman,
///         Ogden, Guo, Walls, SIGMETRICS Performance Evaluation Review 48(3), 2020 (Pascal, Volta,
///         Turing). How capacity is counted, and who wins a tie, is not published: assumed.
/// Cost    O(units * log(blocks that fit on one)), whatever the number of blocks.
class LeastLoadedPlacement {
 public:
  /// Places up to `wanted` blocks and takes their resources from `free` (one entry a unit). Appends
  /// to `placed`, by rising unit. Returns how many were placed.
  std::uint32_t place(std::vector<UnitResources>& free,
                      const UnitResources& need,
                      std::uint32_t wanted,
                      std::vector<UnitShare>& placed);

 private:
  std::vector<std::uint32_t> free_slots_;  // scratch: by unit, further blocks that fit
};

}  // namespace schedlab
