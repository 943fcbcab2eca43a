// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/components.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;

TEST_CASE("strong components: a ring is one, a chain is many") {
  // 0 -> 1 -> 2 -> 0 is a ring; 2 -> 3 -> 4 hangs off it.
  const std::vector<Edge> edges{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}};
  const auto component = strong_components(5, edges);
  REQUIRE(component.size() == 5);
  CHECK(component[0] == component[1]);
  CHECK(component[1] == component[2]);
  CHECK(component[3] != component[0]);
  CHECK(component[4] != component[3]);
  for (const auto& [from, to] : edges) CHECK(component[from] >= component[to]);
}

TEST_CASE("a cycle is found and printed, a graph without one has none") {
  using Cycle = std::vector<std::uint32_t>;
  CHECK(find_cycle(3, {{0, 1}, {1, 2}}).empty());
  CHECK(find_cycle(0, {}).empty());
  CHECK(find_cycle(2, {{1, 1}}) == Cycle{1});
  // Through 1 there is a cycle of two and one of three: the shorter one is named.
  CHECK(find_cycle(4, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {2, 1}}) == Cycle{1, 2});
  const auto name = [](std::size_t i) { return "t" + std::to_string(i); };
  CHECK(print_cycle({1, 2}, name) == "t1 -> t2 -> t1");
  CHECK(print_cycle({}, name).empty());
  CHECK_THROWS_AS((void)find_cycle(2, {{0, 2}}), ContractViolation);
}

TEST_CASE("a long cycle is shortened when printed, and does not overflow the stack") {
  constexpr std::uint32_t n = 200'000;
  std::vector<Edge> ring;
  for (std::uint32_t i = 0; i < n; ++i) ring.emplace_back(i, (i + 1) % n);
  const auto cycle = find_cycle(n, ring);
  CHECK(cycle.size() == n);
  const std::string text = print_cycle(cycle, [](std::size_t i) { return std::to_string(i); });
  // The first 11, what is left out, the last one, and the first again.
  CHECK(text.find("10 -> ... (199988 more) -> 199999 -> 0") != std::string::npos);
}
