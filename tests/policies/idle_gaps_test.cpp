// SPDX-License-Identifier: Apache-2.0
#include "policies/idle_gaps.hpp"

#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

Time at(std::int64_t picoseconds) {
  return Time{Duration{picoseconds}};
}

TEST_CASE("a task goes into the first gap that is long enough, else behind the last task") {
  IdleGaps idle{Duration{2}};
  idle.occupy(at(5), Duration{5});   // gap 0 to 5
  idle.occupy(at(13), Duration{7});  // gap 10 to 13, end 20
  CHECK(idle.earliest_start(at(0), Duration{5}) == at(0));
  CHECK(idle.earliest_start(at(1), Duration{5}) == at(20));
  CHECK(idle.earliest_start(at(4), Duration{3}) == at(10));
  CHECK(idle.earliest_start(at(25), Duration{3}) == at(25));
  idle.occupy(at(0), Duration{4});  // 4 to 5 is shorter than any task
  CHECK(idle.earliest_start(at(0), Duration{3}) == at(10));
}

TEST_CASE("a task without length goes between two tasks") {
  IdleGaps idle{Duration{0}};
  idle.occupy(at(0), Duration{5});
  idle.occupy(at(5), Duration{5});
  CHECK(idle.earliest_start(at(3), Duration{0}) == at(5));
  idle.occupy(at(5), Duration{0});
  CHECK(idle.earliest_start(at(5), Duration{0}) == at(5));
  CHECK(idle.earliest_start(at(6), Duration{0}) == at(10));
}

/// All intervals, searched from the beginning.
class Naive {
 public:
  [[nodiscard]] Time earliest_start(Time ready, Duration length) const {
    std::vector<Time> starts{ready};
    for (const auto& [begin, end] : busy_) starts.push_back(std::max(ready, end));
    std::sort(starts.begin(), starts.end());
    return *std::find_if(starts.begin(), starts.end(), [&](Time start) {
      return std::all_of(busy_.begin(), busy_.end(), [&](const auto& interval) {
        return interval.second <= start || interval.first >= start + length;
      });
    });
  }
  void occupy(Time start, Duration length) { busy_.emplace_back(start, start + length); }

 private:
  std::vector<std::pair<Time, Time>> busy_;
};

TEST_CASE("thousands of gaps are searched and filled as one by one") {
  for (const std::int64_t shortest : {0, 1, 4}) {
    CAPTURE(shortest);
    Rng rng{static_cast<std::uint64_t>(shortest) + 1};
    IdleGaps idle{Duration{shortest}};
    Naive naive;
    Time end{};
    for (int i = 0; i < 1500; ++i) {  // a gap before nearly every task: several chunks
      const Time start = end + Duration{static_cast<std::int64_t>(rng.below(12))};
      const Duration length{shortest + static_cast<std::int64_t>(rng.below(6))};
      idle.occupy(start, length);
      naive.occupy(start, length);
      end = start + length;
    }
    const auto range = static_cast<std::uint64_t>(end.time_since_epoch().count());
    for (int i = 0; i < 500; ++i) {
      const Time ready = at(static_cast<std::int64_t>(rng.below(range)));
      const Duration length{shortest + static_cast<std::int64_t>(rng.below(9))};
      const Time start = idle.earliest_start(ready, length);
      REQUIRE(start == naive.earliest_start(ready, length));
      idle.occupy(start, length);
      naive.occupy(start, length);
    }
  }
}

}  // namespace
}  // namespace schedlab
