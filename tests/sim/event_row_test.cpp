// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/event_row.hpp"

#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace schedlab;
using fluid::EventRow;

TEST_CASE("events leave by time, those of one time as they came, and one kernel may have several") {
  EventRow row;
  CHECK(row.next_time() == EventRow::never);
  row.insert(30, 1);
  row.insert(10, 2);
  row.insert(20, 1);
  row.insert(20, 3);
  CHECK(row.next_time() == 10);
  CHECK(row.alone());
  CHECK(row.pop() == 2);
  CHECK(row.next_time() == 20);
  CHECK_FALSE(row.alone());  // 1 and 3
  CHECK(row.pop() == 1);
  CHECK(row.next_kernel() == 3);
  CHECK(row.alone());
  CHECK(row.pop() == 3);
  CHECK(row.next_time_beside(1) == EventRow::never);  // only 1 is left
  CHECK(row.next_time_beside(3) == 30);
  row.insert(30, 4);
  row.remove(1);
  CHECK(row.next_kernel() == 4);
  CHECK(row.next_time_beside(4) == EventRow::never);
  row.remove(4);
  CHECK(row.next_time() == EventRow::never);
}

TEST_CASE("the row agrees with a sorted list, whatever is inserted, taken or removed") {
  Rng rng{5};
  EventRow row;
  std::vector<std::pair<std::int64_t, std::uint32_t>> expected;  // by time, ties by insertion
  std::int64_t now = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto kernel = static_cast<std::uint32_t>(rng.below(12));
    const std::uint64_t what = rng.below(16);
    if (what < 8) {
      const std::int64_t time = now + static_cast<std::int64_t>(rng.below(40));  // ties
      const auto behind = std::find_if(
          expected.begin(), expected.end(), [&](const auto& e) { return e.first > time; });
      expected.insert(behind, {time, kernel});
      row.insert(time, kernel);
    } else if (what == 8) {
      std::erase_if(expected, [&](const auto& e) { return e.second == kernel; });
      row.remove(kernel);
    } else if (!expected.empty()) {
      now = expected.front().first;
      REQUIRE(row.alone() == (expected.size() == 1 || expected[1].first != now));
      REQUIRE(row.pop() == expected.front().second);
      expected.erase(expected.begin());
    }
    REQUIRE(row.next_time() == (expected.empty() ? EventRow::never : expected.front().first));
    const auto other = std::find_if(
        expected.begin(), expected.end(), [&](const auto& e) { return e.second != kernel; });
    REQUIRE(row.next_time_beside(kernel) ==
            (other == expected.end() ? EventRow::never : other->first));
  }
  row.clear();
  CHECK(row.next_time() == EventRow::never);
}
