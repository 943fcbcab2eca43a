// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/graph_lanes.hpp"

#include "policies/registry.hpp"
#include "sim/base/rng.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

/// Pairs of nodes that share a lane although the needs do not order them.
std::size_t unordered_pairs(const DeviceGraph& graph, const GraphLanes& lanes) {
  const std::uint32_t nodes = graph.node_count();
  std::vector<std::vector<bool>> before(nodes, std::vector<bool>(nodes, false));
  std::size_t pairs = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (const std::uint32_t need : graph.needs(node)) {
      before[node][need] = true;
      for (std::uint32_t i = 0; i < nodes; ++i)
        before[node][i] = before[node][i] || before[need][i];
    }
    for (std::uint32_t other = 0; other < node; ++other) {
      pairs += lanes.of[other] == lanes.of[node] && !before[node][other];
    }
  }
  return pairs;
}

}  // namespace

TEST_CASE("nodes of one lane are ordered, whatever the graph") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    DeviceGraph graph;
    for (std::uint32_t node = 0; node < 40; ++node) {
      std::vector<std::uint32_t> needs;
      for (std::uint32_t need = 0; need < node; ++need) {
        if (rng.below(10) == 0) needs.push_back(need);
      }
      graph.add_node(StreamId{static_cast<std::uint32_t>(rng.below(3))}, needs);
    }
    const GraphLanes lanes = graph_lanes(graph);
    REQUIRE(lanes.of.size() == 40);
    CHECK(unordered_pairs(graph, lanes) == 0);
  }
}

TEST_CASE("a captured plan has at most one lane per stream") {
  const Scene scene(schedlab::testing::gradient_grid(4, 6), Duration{1});
  const Plan plan = capture_graphs(make_policy("diagonal")->plan(scene.problem()));
  REQUIRE(plan.graphs.size() == 1);
  const GraphLanes lanes = graph_lanes(plan.graphs[0]);
  CHECK(lanes.count <= plan.streams.size());
  CHECK(unordered_pairs(plan.graphs[0], lanes) == 0);
}

TEST_CASE("nodes that nothing orders have lanes of their own") {
  DeviceGraph graph;
  for (int i = 0; i < 3; ++i) graph.add_node(StreamId{0}, {});
  graph.add_node(StreamId{1}, {0, 1, 2});
  const GraphLanes lanes = graph_lanes(graph);
  CHECK(lanes.count == 3);
  CHECK(lanes.of == std::vector<std::uint32_t>{0, 1, 2, 0});
}
