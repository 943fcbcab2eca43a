// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.hpp"

#include "sim/base/rng.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

using namespace schedlab;

TEST_CASE("entries leave by time, then phase, then in the order they were pushed") {
  EventQueue queue;
  queue.push(Time{2us}, 0, 1);
  queue.push(Time{1us}, 1, 2);
  queue.push(Time{1us}, 0, 3);
  queue.push(Time{1us}, 0, 4);
  CHECK(queue.next_time() == Time{1us});
  CHECK(queue.pop().payload == 3);
  CHECK(queue.pop().payload == 4);
  CHECK(queue.pop().payload == 2);
  CHECK(queue.pop().payload == 1);
  CHECK(queue.empty());
  CHECK(queue.next_time() == Time::max());
}

TEST_CASE("any mix of pushes and pops leaves in sorted order") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    EventQueue queue;
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>>
        model;  // time, phase, number
    for (std::uint32_t i = 0; i < 400; ++i) {
      if (rng.below(3) != 0 || model.empty()) {
        const auto time = static_cast<std::int64_t>(rng.below(20));
        const auto phase = static_cast<std::uint32_t>(rng.below(3));
        queue.push(Time{Duration{time}}, phase, i);
        model.emplace_back(time, phase, i);
      } else {
        const auto least = std::min_element(model.begin(), model.end());
        const EventQueue::Top top = queue.pop();
        CHECK(top.payload == std::get<2>(*least));
        CHECK(top.phase == std::get<1>(*least));
        model.erase(least);
      }
      CHECK(queue.empty() == model.empty());
    }
  }
}
