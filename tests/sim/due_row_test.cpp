// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/due_row.hpp"

#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

using namespace schedlab;
using fluid::DueRow;
using fluid::Wide;

TEST_CASE("the row tells the first two events, whatever is inserted, moved or removed") {
  Rng rng{23};
  DueRow row;
  std::map<std::uint32_t, Wide> expected;  // by kernel
  for (int step = 0; step < 20'000; ++step) {
    const auto kernel = static_cast<std::uint32_t>(rng.below(12));
    // Ties, times that differ in the upper half only, and kernels without an event.
    Wide due = (Wide{rng.below(3)} << 64U) + rng.below(20);
    if (rng.below(8) == 0) due = DueRow::never;
    if (expected.count(kernel) == 0) {
      row.insert(due, kernel);
      expected[kernel] = due;
    } else if (rng.below(3) == 0) {
      row.remove(kernel);
      expected.erase(kernel);
    } else {
      row.move(kernel, due);
      expected[kernel] = due;
    }
    std::vector<Wide> sorted{DueRow::never, DueRow::never};
    for (const auto& [one, time] : expected) sorted.push_back(time);
    std::sort(sorted.begin(), sorted.end());
    REQUIRE((row.first() == sorted[0]));
    REQUIRE((row.second() == sorted[1]));
    if (!expected.empty()) REQUIRE((expected.at(row.first_kernel()) == sorted[0]));
  }
  row.clear();
  CHECK((row.first() == DueRow::never));
}
