// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/sharing/kernel_heap.hpp"

#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace schedlab;

TEST_CASE("the first of more kernels than the row holds can be delayed again and again") {
  Rng rng{11};
  KernelHeap heap;
  heap.clear();
  std::map<std::uint32_t, std::int64_t> expected;
  for (std::uint32_t kernel = 0; kernel < 25; ++kernel) {  // the row holds 8
    expected[kernel] = static_cast<std::int64_t>(1 + rng.below(100));
    heap.set(kernel, expected[kernel]);
  }
  for (int step = 0; step < 20'000; ++step) {
    const std::uint32_t first = heap.top();
    const std::int64_t now = expected.at(first);
    REQUIRE(heap.next_time() == now);
    for (const auto& [id, at] : expected) REQUIRE(at >= now);
    expected[first] = now + static_cast<std::int64_t>(rng.below(50));  // 0: it stays the first
    heap.delay_first(expected[first]);
  }
}

TEST_CASE("the heap of kernels agrees with a sorted list, whatever is set, moved or taken out") {
  Rng rng{7};
  KernelHeap heap;
  heap.clear();
  std::map<std::uint32_t, std::int64_t> expected;
  for (int step = 0; step < 20'000; ++step) {
    const auto kernel = static_cast<std::uint32_t>(rng.below(30));
    const auto time = static_cast<std::int64_t>(rng.below(200));  // ties
    const std::uint64_t what = rng.below(6);
    if (what < 3) {
      heap.set(kernel, time);
      expected[kernel] = time;
    } else if (what == 3) {
      heap.remove(kernel);
      expected.erase(kernel);
    } else if (!expected.empty()) {
      const std::int64_t next = heap.next_time();
      const auto same = std::count_if(
          expected.begin(), expected.end(), [&](const auto& e) { return e.second == next; });
      REQUIRE(heap.alone() == (same == 1));
      const std::uint32_t top = heap.top();
      REQUIRE(heap.pop() == top);
      REQUIRE(expected.at(top) == next);
      expected.erase(top);
    }
    std::int64_t least = KernelHeap::never;
    for (const auto& [id, at] : expected) least = std::min(least, at);
    REQUIRE(heap.next_time() == least);
    REQUIRE(heap.contains(kernel) == (expected.count(kernel) == 1));
  }
}
