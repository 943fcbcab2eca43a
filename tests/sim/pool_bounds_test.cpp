// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/pool_bounds.hpp"

#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace schedlab;
using bounds::Use;

namespace {

/// By its definition.
std::int64_t largest_subset(const std::vector<Use>& uses, std::int64_t capacity) {
  __extension__ using Wide = __int128;
  std::int64_t best = 0;
  for (const Use& by_head : uses) {
    for (const Use& by_tail : uses) {
      Wide amount = 0;
      for (const Use& use : uses) {
        if (use.head >= by_head.head && use.tail >= by_tail.tail) amount += use.amount;
      }
      if (amount == 0) continue;
      const auto work = static_cast<std::int64_t>((amount + capacity - 1) / capacity);
      best = std::max(best, by_head.head + work + by_tail.tail);
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the subset bound is that of the best two thresholds, where sums fit in 64 bits or not") {
  Rng rng{11};
  // Of 2^40 ps times a capacity of 2^24 units the sums do not fit.
  for (const auto& [longest, units] : {std::pair{20ULL, 4ULL}, {1ULL << 40U, 1ULL << 24U}}) {
    for (int round = 0; round < 200; ++round) {
      const auto capacity = static_cast<std::int64_t>(1 + rng.below(units));
      std::vector<Use> uses(1 + rng.below(24));
      for (Use& use : uses) {
        use.head = static_cast<std::int64_t>(rng.below(longest));
        use.tail = static_cast<std::int64_t>(rng.below(longest));
        use.duration = static_cast<std::int64_t>(1 + rng.below(longest));
        use.amount = use.duration * static_cast<std::int64_t>(1 + rng.below(units / 4));
      }
      const std::int64_t expected = largest_subset(uses, capacity);
      CHECK(bounds::subset_bound(uses, capacity).bound == expected);
    }
  }
}
