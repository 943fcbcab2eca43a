// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/partition_profile.hpp"

#include "sim/base/error.hpp"
#include "tests/sim/layer_graphs.hpp"

#include <doctest/doctest.h>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::test::LayerList;
using schedlab::test::stages;

TEST_CASE("a partition's profile has the sums of its stages, per sample") {
  LayerList list;
  list.add("a", 10us, {}).add("b", 20us, {"a"}).add("c", 31us, {"b", "a"});
  LayerGraph& graph = list.graph();
  graph.samples = 4;
  for (Layer& layer : graph.layers) {
    layer.activation = 400_B;
    layer.kept = 40_B;
  }
  for (const char* name : {"a", "c"}) {
    graph.layers[list.find(name)].parameters = 1000_B;
    graph.layers[list.find(name)].tied = "w";
  }
  const auto times = layer_times(graph);
  const Partition cut = make_partition(graph, times, stages({0, 0, 1}), {}, {});
  const PipelineProfile profile = partition_profile(graph, times, cut, 8_B, 2);
  REQUIRE(profile.stages.size() == 2);
  CHECK(profile.stages[0].name == "a to b");
  CHECK(profile.stages[1].name == "c");
  CHECK(profile.stages[0].forward.of(4) == 30us);
  CHECK(profile.stages[0].forward.per_sample == 7500ns);
  CHECK(profile.stages[1].backward_data.of(4) == 31us);
  CHECK(profile.stages[1].backward_data.of(2) == 15500ns);
  CHECK(profile.stages[0].kept_activations == 20_B);   // (40 + 40) / 4
  CHECK(profile.stages[1].kept_activations == 210_B);  // (40 + 400 + 400) / 4
  CHECK(profile.stages[0].kept_gradients == 100_B);    // of a; b has no parameters
  CHECK(profile.stages[1].optimizer_state == 2000_B);
  // c reads a and b: one link with both outputs.
  CHECK(profile.links == std::vector<StageLink>{{.from = 0, .to = 1, .bytes = 200_B}});
  REQUIRE(profile.tied.size() == 1);
  CHECK(profile.tied.front().stages == std::vector<std::uint32_t>{0, 1});
  CHECK(profile.labels == 8_B);
}

TEST_CASE("what does not divide by the samples is not lost") {
  LayerList list;
  list.add("a", Duration{11}, {});
  list.graph().samples = 4;
  const auto times = layer_times(list.graph());
  const Partition cut = make_partition(list.graph(), times, stages({0}), {}, {});
  CHECK(partition_profile(list.graph(), times, cut).stages[0].forward.of(4) == Duration{11});
}

TEST_CASE("a partition with replicas has no such profile") {
  LayerList list;
  list.add("a", 1us, {}).add("b", 1us, {"a"});
  const auto times = layer_times(list.graph());
  const Partition cut = make_partition(list.graph(), times, stages({0, 1}), {1, 2}, {});
  CHECK_THROWS_WITH_AS(static_cast<void>(partition_profile(list.graph(), times, cut)),
                       doctest::Contains("stage 1 has 2 replicas"),
                       InfeasibleError);
}
