// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/partitioner.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/sim/layer_graphs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::test::LayerList;
using schedlab::test::stages;

namespace {

/// Forward only and transfers as the layers say, so that loads can be added up by eye.
PartitionRequest forward_only(std::uint32_t accelerators) {
  PartitionRequest request;
  request.accelerators = accelerators;
  request.rules.training = false;
  request.merge_untimed = false;
  return request;
}

PartitionResult partition(LayerList& list, const PartitionRequest& request) {
  return partition_layers(list.graph(), layer_times(list.graph()), request);
}

/// Layers in random order of reading, with times, transfers, parameters and now and then a cycle.
LayerGraph random_layers(std::uint64_t seed, std::uint32_t count) {
  Rng rng{seed};
  LayerList list;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<std::string> inputs;
    for (std::uint32_t j = 0; j < i; ++j) {
      if (rng.below(3) == 0) inputs.push_back(fmt::format("l{}", j));
    }
    list.add(fmt::format("l{}", i), Duration{static_cast<std::int64_t>(rng.below(9))}, inputs);
    list.last().transfer = Duration{static_cast<std::int64_t>(rng.below(4))};
    list.last().parameters = Bytes{static_cast<std::int64_t>(rng.below(50))};
    list.last().activation = Bytes{static_cast<std::int64_t>(rng.below(20))};
    list.last().kept = Bytes{static_cast<std::int64_t>(rng.below(50))};
  }
  if (seed % 3 == 0) list.graph().layers[LayerId{1}].inputs.push_back(LayerId{count - 2});
  if (seed % 2 == 0) {
    for (const std::uint32_t i : {0U, 3U}) {
      list.graph().layers[LayerId{i}].tied = "shared";
      list.graph().layers[LayerId{i}].parameters = 40_B;
    }
  }
  return list.graph();
}

struct Best {
  Duration load = Duration::max();
  std::optional<Bytes> memory;  ///< the least of those with this load
};

/// Tries every stage of every layer and all replicas.
class BruteForce {
 public:
  BruteForce(const LayerGraph& graph, const PartitionRequest& request)
      : graph_(graph), times_(layer_times(graph)), request_(request) {}

  Best run() {
    std::vector<std::uint32_t> stage(graph_.layers.size(), 0);
    for (std::uint32_t count = 1; count <= request_.accelerators; ++count) {
      assign(stage, 0, count);
    }
    return best_;
  }

 private:
  void assign(std::vector<std::uint32_t>& stage, std::size_t layer, std::uint32_t count) {
    if (layer < stage.size()) {
      for (stage[layer] = 0; stage[layer] < count; ++stage[layer]) assign(stage, layer + 1, count);
      return;
    }
    // A legal cut can be numbered so that no edge goes down, and is tried with all such numbers.
    for (const Edge& edge : layer_edges(graph_)) {
      if (stage[edge.first] > stage[edge.second]) return;
    }
    if (std::set<std::uint32_t>(stage.begin(), stage.end()).size() < count) return;
    std::vector<std::uint32_t> replicas(count, 1);
    replicate(stage, replicas, 0);
  }
  void replicate(const std::vector<std::uint32_t>& stage,
                 std::vector<std::uint32_t>& replicas,
                 std::size_t next) {
    if (next == replicas.size()) {
      std::uint32_t sum = 0;
      for (const std::uint32_t r : replicas) sum += r;
      if (sum <= request_.accelerators) consider(stage, replicas);
      return;
    }
    for (std::uint32_t r = 1; r <= request_.max_replicas; ++r) {
      replicas[next] = r;
      replicate(stage, replicas, next + 1);
    }
  }
  void consider(const std::vector<std::uint32_t>& stage,
                const std::vector<std::uint32_t>& replicas) {
    const Partition cut = make_partition(graph_, times_, stages(stage), replicas, request_.rules);
    const Bytes memory = cut.largest_memory();
    if (request_.memory_limit > 0_B && memory > request_.memory_limit) return;
    if (cut.load() < best_.load) best_ = {.load = cut.load(), .memory = memory};
    if (cut.load() == best_.load) best_.memory = std::min(*best_.memory, memory);
  }

  const LayerGraph& graph_;
  IdVector<LayerId, LayerTimes> times_;
  const PartitionRequest& request_;
  Best best_;
};

}  // namespace

TEST_CASE("a chain is cut where the larger half is smallest") {
  LayerList list;
  list.add("a", 4us, {}).add("b", 3us, {"a"}).add("c", 2us, {"b"}).add("d", 2us, {"c"});
  const PartitionResult two = partition(list, forward_only(2));
  CHECK(two.partition.stage_of == stages({0, 1, 1, 1}));
  CHECK(two.partition.load() == 7us);
  CHECK(two.method == PartitionMethod::exact);
  CHECK(two.down_sets == 5);
  CHECK(two.lower_bound == 5500ns);  // 11 us on two
  CHECK(partition(list, forward_only(3)).partition.load() == 4us);
}

TEST_CASE("a transfer decides between two even cuts") {
  LayerList list;
  list.add("a", 2us, {}).add("b", 1us, {"a"}).add("c", 1us, {"b"}).add("d", 2us, {"c"});
  for (Layer& layer : list.graph().layers) layer.transfer = 1us;
  list.graph().layers[list.find("b")].transfer = 4us;
  // a b | c d would be 3 + 4 on both sides; a | b c d is 2 + 1 and 4 + 1.
  const PartitionResult cut = partition(list, forward_only(2));
  CHECK(cut.partition.load() == 5us);
}

TEST_CASE("branches may lie on one stage that no order of the layers has in one piece") {
  // Two chains side by side: s -> a1 -> a2, s -> b1 -> b2; with 3 accelerators the best stages are
  // s, then a1 with b1 or one chain each; every cut is between down-sets of two chains.
  LayerList list;
  list.add("s", 2us, {}).add("a1", 5us, {"s"}).add("b1", 1us, {"s"});
  list.add("a2", 1us, {"a1"}).add("b2", 5us, {"b1"});
  const PartitionResult cut = partition(list, forward_only(3));
  CHECK(cut.partition.load() == 6us);     // e.g. s b1 | a1 a2 | b2, or a1 a2 last
  CHECK(cut.down_sets == 2 + 3 * 3 - 1);  // nothing; s with i of chain a and j of chain b
}

TEST_CASE("no partition of small graphs has a lower load, or at that load less memory") {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_layers(seed, 6);
    PartitionRequest request = forward_only(static_cast<std::uint32_t>(2 + seed % 3));
    request.rules.training = seed % 4 != 0;
    request.rules.overlapped = seed % 5 == 0;
    request.rules.bandwidth = 1_GB_per_s;
    request.rules.microbatches = 3;
    request.max_replicas = seed % 2 == 0 ? 2 : 1;
    const auto times = layer_times(graph);
    const PartitionResult found = partition_layers(graph, times, request);
    const Best best = BruteForce(graph, request).run();
    CHECK(found.method == PartitionMethod::exact);
    CHECK(found.partition.load() == best.load);
    CHECK(found.partition.largest_memory() == best.memory);
    CHECK(found.lower_bound <= best.load);
    // A limit that the fastest one just does not keep.
    request.memory_limit = found.partition.largest_memory() - 1_B;
    const Best limited = BruteForce(graph, request).run();
    if (limited.memory) {
      ++checked;
      const PartitionResult within = partition_layers(graph, times, request);
      CHECK(within.partition.load() == limited.load);
      CHECK(within.partition.largest_memory() <= request.memory_limit);
    } else {
      CHECK_THROWS_WITH_AS(static_cast<void>(partition_layers(graph, times, request)),
                           doctest::Contains("fits their memory"),
                           InfeasibleError);
    }
  }
  CHECK(checked > 5);
}

TEST_CASE("with few down-sets allowed the result is legal, no better, and says so") {
  std::size_t worse = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = random_layers(3 * seed + 1, 24);
    PartitionRequest request = forward_only(4);
    request.max_down_sets = 1000000;
    const PartitionResult exact = partition_layers(graph, layer_times(graph), request);
    REQUIRE(exact.method == PartitionMethod::exact);
    request.max_down_sets = 60;
    const PartitionResult some = partition_layers(graph, layer_times(graph), request);
    CHECK(some.method ==
          (exact.down_sets > 60 ? PartitionMethod::some_cuts : PartitionMethod::exact));
    CHECK(some.partition.load() >= exact.partition.load());
    CHECK(some.partition.load() <= 2 * exact.partition.load());
    if (some.partition.load() > exact.partition.load()) ++worse;
  }
  MESSAGE(worse << " of 10 are worse than the exact ones");
}

TEST_CASE("thousands of layers on thousands of accelerators are filled greedily") {
  LayerList list;
  list.add("l0", 2us, {});
  for (int i = 1; i < 5000; ++i) list.add(fmt::format("l{}", i), 2us, {fmt::format("l{}", i - 1)});
  PartitionRequest request = forward_only(4000);
  const PartitionResult cut = partition(list, request);
  CHECK(cut.method == PartitionMethod::greedy);
  CHECK(cut.partition.load() == 4us);  // 5,000 layers of 2 us do not go on 4,000 one by one
  request.use_all = true;
  CHECK(partition(list, request).partition.stages.size() == 4000);
}

TEST_CASE("layers on a cycle share a stage, and too many stages are refused with them") {
  LayerList list;
  list.add("a", 1us, {}).add("b", 1us, {"a"}).add("c", 1us, {"b"}).add("d", 1us, {"c"});
  list.graph().layers[list.find("b")].inputs.push_back(list.find("c"));
  CHECK(layers_on_cycles(list.graph()) ==
        std::vector<std::vector<LayerId>>{{list.find("b"), list.find("c")}});
  PartitionRequest request = forward_only(3);
  CHECK(partition(list, request).partition.stage_of == stages({0, 1, 1, 2}));
  request.accelerators = 4;
  request.use_all = true;
  CHECK_THROWS_WITH_AS(static_cast<void>(partition(list, request)),
                       doctest::Contains("2 layers from \"b\" to \"c\""),
                       InfeasibleError);
}

TEST_CASE("what costs nothing joins its first reader") {
  LayerList list;
  list.add("input", 0us, {}).add("labels", 0us, {}).add("a", 2us, {"input"});
  list.add("b", 2us, {"a"}).add("loss", 2us, {"b", "labels"});
  const PartitionResult cut = partition(list, forward_only(3));
  CHECK(cut.partition.stage_of == stages({0, 2, 0, 1, 2}));
  CHECK(cut.groups == 3);
}

TEST_CASE("layers without time go with what they read, shared parameters on one stage if asked") {
  LayerList list;
  list.add("a", 2us, {}).add("view", 0us, {"a"}).add("b", 2us, {"view"}).add("c", 2us, {"b"});
  for (Layer& layer : list.graph().layers) layer.transfer = 1us;
  PartitionRequest request = forward_only(3);
  request.merge_untimed = true;
  CHECK(partition(list, request).groups == 3);
  for (const char* name : {"a", "c"}) list.graph().layers[list.find(name)].tied = "w";
  request.tied_together = true;  // a and c bind b and view, which lie between them
  CHECK(partition(list, request).groups == 1);
  request.tied_together = false;
  request.together = {{list.find("b"), list.find("c")}};
  const PartitionResult cut = partition(list, request);
  CHECK(cut.groups == 2);
  CHECK(cut.partition.stage_of[list.find("b")] == cut.partition.stage_of[list.find("c")]);
}

TEST_CASE("a slow layer is replicated") {
  LayerList list;
  list.add("a", 2us, {}).add("slow", 8us, {"a"}).add("c", 2us, {"slow"});
  PartitionRequest request = forward_only(6);
  CHECK(partition(list, request).partition.load() == 8us);
  request.max_replicas = 4;
  const PartitionResult cut = partition(list, request);
  CHECK(cut.partition.load() == 2us);
  CHECK(cut.partition.stages[1].replicas == 4);
}

TEST_CASE("memory may be balanced at the price of load") {
  LayerList list;
  list.add("a", 1us, {}).add("b", 1us, {"a"}).add("c", 1us, {"b"}).add("d", 3us, {"c"});
  for (const char* name : {"a", "b", "c"}) {
    list.graph().layers[list.find(name)].parameters = 10_B;
  }
  PartitionRequest request = forward_only(2);
  const PartitionResult fast = partition(list, request);
  CHECK(fast.partition.load() == 3us);
  CHECK(fast.partition.largest_memory() == 30_B);  // a b c | d
  request.objective = PartitionObjective::memory;
  request.load_slack = 0.4;  // 4 us of 3 are a third more
  const PartitionResult even = partition(list, request);
  CHECK(even.partition.load() == 4us);
  CHECK(even.partition.largest_memory() == 20_B);  // a b | c d
  request.load_slack = 0.3;
  CHECK(partition(list, request).partition.load() == 3us);
}

TEST_CASE("of a long chain few pairs of cuts are looked at") {
  // The work grows with n log n: four times the layers, about four times the work.
  const auto tried = [](int layers) {
    LayerList list;
    list.add("l0", 2us, {});
    for (int i = 1; i < layers; ++i) {
      list.add(fmt::format("l{}", i), 2us, {fmt::format("l{}", i - 1)});
    }
    const PartitionResult cut = partition(list, forward_only(4));
    CHECK(cut.method == PartitionMethod::exact);
    CHECK(cut.partition.load() == 2us * (layers / 4));
    return cut.stages_tried;
  };
  const std::uint64_t few = tried(2000);
  CHECK(few < 2000 * 60);
  CHECK(tried(8000) < 6 * few);
}

TEST_CASE("down-sets that no balanced partition has are left out") {
  // Two chains of 60 side by side have 61 x 61 + 2 down-sets, 3.7 million pairs of which one is
  // part of the other.
  LayerList list;
  list.add("s", 1us, {});
  for (const std::string chain : {"a", "b"}) {
    for (int i = 0; i < 60; ++i) {
      const std::string before = i == 0 ? "s" : fmt::format("{}{}", chain, i - 1);
      list.add(fmt::format("{}{}", chain, i), Duration{1'000'000 + 7919 * (i % 5)}, {before});
      list.last().transfer = 1us;
    }
  }
  const PartitionResult two = partition(list, forward_only(2));
  CHECK(two.method == PartitionMethod::exact);
  CHECK(two.down_sets == 61 * 61 + 1);
  CHECK(two.stages_tried < 200'000);
  MESSAGE(two.stages_tried << " stages for 2, " << partition(list, forward_only(6)).stages_tried
                           << " for 6");
}

TEST_CASE("a number of stages with as many replicas each") {
  LayerList list;
  list.add("a", 4us, {}).add("b", 4us, {"a"}).add("c", 4us, {"b"}).add("d", 4us, {"c"});
  PartitionRequest request = forward_only(8);
  request.use_all = true;
  request.min_replicas = 4;
  request.max_replicas = 4;
  const PartitionResult cut = partition(list, request);
  REQUIRE(cut.partition.stages.size() == 2);
  CHECK(cut.partition.stages[0].replicas == 4);
  CHECK(cut.partition.load() == 2us);  // 8 us on four
  request.min_replicas = request.max_replicas = 1;
  CHECK_THROWS_WITH_AS(static_cast<void>(partition(list, request)),
                       doctest::Contains("8 stages are asked for"),
                       InfeasibleError);
}

TEST_CASE("layers without time are merged only where no load is lost, unless asked for") {
  // The view's output is large, what it reads is small: it belongs with its reader.
  LayerList list;
  list.add("x", 5us, {}).add("view", 0us, {"x"}).add("y", 5us, {"view"});
  list.graph().layers[list.find("x")].transfer = 1us;
  list.graph().layers[list.find("view")].transfer = 10us;
  PartitionRequest request = forward_only(2);
  request.merge_untimed = true;
  CHECK(partition(list, request).partition.load() == 10us);  // cut, each would have 5 + 10
  request.merge_untimed.reset();
  const PartitionResult cut = partition(list, request);
  CHECK(cut.method == PartitionMethod::exact);
  CHECK(cut.partition.load() == 6us);
}

TEST_CASE("the bound counts what a large layer has to receive or send") {
  LayerList list;
  list.add("a", 5us, {}).add("big", 20us, {"a"}).add("b", 5us, {"big"});
  for (Layer& layer : list.graph().layers) layer.transfer = 3us;
  // 30 us on three are 10; big alone 20, and with each neighbour the 3 us of a transfer: cheaper
  // than its 5.
  const PartitionResult cut = partition(list, forward_only(3));
  CHECK(cut.lower_bound == 26us);
  CHECK(cut.partition.load() == 26us);
}
