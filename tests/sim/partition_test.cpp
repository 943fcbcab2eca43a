// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/partition.hpp"

#include "sim/base/error.hpp"
#include "tests/sim/layer_graphs.hpp"

#include <doctest/doctest.h>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::test::LayerList;
using schedlab::test::stages;

namespace {

/// a -> b -> d and a -> c -> d, one to four microseconds forward, outputs of 1,000 bytes.
LayerList diamond() {
  LayerList list;
  list.add("a", 1us, {}).add("b", 2us, {"a"}).add("c", 3us, {"a"}).add("d", 4us, {"b", "c"});
  for (Layer& layer : list.graph().layers) layer.activation = 1000_B;
  return list;
}

/// 1 ns a byte: an output takes 1 us one way.
StageRules one_gigabyte() {
  StageRules rules;
  rules.bandwidth = 1_GB_per_s;
  return rules;
}

}  // namespace

TEST_CASE("a stage's load is its work, each output it reads once and each it sends once") {
  LayerList list = diamond();
  const auto times = layer_times(list.graph());
  const Partition cut =
      make_partition(list.graph(), times, stages({0, 1, 1, 2}), {}, one_gigabyte());
  REQUIRE(cut.stages.size() == 3);
  // In training every pass takes as long as forward, and outputs and their gradients move.
  CHECK(cut.stages[0].load == 3us + 2us);         // a; its output once, although two layers read it
  CHECK(cut.stages[1].receive == 2us);            // a once, although b and c read it
  CHECK(cut.stages[1].send == 4us);               // b and c
  CHECK(cut.stages[1].load == 15us + 2us + 4us);  // 3 * (2 + 3)
  CHECK(cut.stages[2].load == 12us + 4us);
  CHECK(cut.bottleneck == 1);
  CHECK(cut.load() == 21us);

  StageRules forward = one_gigabyte();
  forward.training = false;
  const Partition inference =
      make_partition(list.graph(), times, stages({0, 1, 1, 2}), {}, forward);
  CHECK(inference.stages[1].load == 5us + 1us + 2us);
  StageRules overlapped = one_gigabyte();
  overlapped.overlapped = true;
  CHECK(make_partition(list.graph(), times, stages({0, 1, 1, 2}), {}, overlapped).load() == 15us);
}

TEST_CASE("replicas share the microbatches and sum their gradients once per batch") {
  LayerList list = diamond();
  list.graph().layers[list.find("b")].parameters = 8000_B;
  StageRules rules = one_gigabyte();
  rules.microbatches = 4;
  const Partition cut = make_partition(
      list.graph(), layer_times(list.graph()), stages({0, 1, 1, 2}), {1, 2, 1}, rules);
  // 2 (r - 1) / r = 1 of 8,000 bytes: 8 us for 4 microbatches; (15 + 6) / 2 + 8 / 4.
  CHECK(cut.stages[1].synchronization == 8us);
  CHECK(cut.stages[1].load == 12500ns);
  CHECK(cut.accelerators() == 4);
  rules.latency = 1us;  // two steps of the ring; three outputs, two ways
  const Partition slow = make_partition(
      list.graph(), layer_times(list.graph()), stages({0, 1, 1, 2}), {1, 2, 1}, rules);
  CHECK(slow.stages[1].load == 13500ns + 2500ns);
}

TEST_CASE("memory is parameters in all copies and the kept activations of microbatches in flight") {
  LayerList list;
  list.add("a", 1us, {}).add("b", 1us, {"a"}).add("c", 1us, {"b"});
  for (Layer& layer : list.graph().layers) {
    layer.parameters = 100_B;
    layer.kept = 10_B;
  }
  list.graph().layers[list.find("b")].activation = 1_B;  // c receives and holds it
  StageRules rules;
  rules.parameter_copies = 4;
  rules.microbatches = 8;
  const auto memory = [&](InFlight in_flight, std::size_t stage) {
    rules.in_flight = in_flight;
    const auto times = layer_times(list.graph());
    return make_partition(list.graph(), times, stages({0, 1, 2}), {}, rules).stages[stage].memory;
  };
  CHECK(memory(InFlight::all, 0) == 480_B);           // 8 microbatches
  CHECK(memory(InFlight::later_stages, 0) == 430_B);  // 3 stages from here to the last
  CHECK(memory(InFlight::later_stages, 2) == 411_B);
  CHECK(memory(InFlight::one, 0) == 410_B);
  rules.microbatches = 2;
  CHECK(memory(InFlight::later_stages, 0) == 420_B);  // never more than there are
  rules.training = false;
  CHECK(memory(InFlight::all, 0) == 100_B);
}

TEST_CASE("a link that is next to none is refused, memory that fits nowhere is the most there is") {
  LayerList list = diamond();
  const auto times = layer_times(list.graph());
  StageRules rules;
  rules.bandwidth = Bandwidth{0.5};  // 1,000 bytes in 2,000 s
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_partition(list.graph(), times, stages({0, 1, 1, 1}), {}, rules)),
      doctest::Contains("the output of layer \"a\" would take more than 1000 s"),
      InfeasibleError);
  rules = StageRules{};
  rules.microbatches = 1'000'000'000;
  rules.in_flight = InFlight::all;
  for (Layer& layer : list.graph().layers) layer.kept = Bytes{100'000'000'000};
  const Partition cut = make_partition(list.graph(), times, stages({0, 0, 0, 0}), {}, rules);
  CHECK(cut.largest_memory() == Bytes{9'000'000'000'000'000'000});
}

TEST_CASE("stages that wait for each other are refused with the layers of the cycle") {
  LayerList list = diamond();
  const auto times = layer_times(list.graph());
  // a and d on one stage: a feeds b, b feeds d.
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_partition(list.graph(), times, stages({0, 1, 0, 0}), {}, {})),
      doctest::Contains("\"a\" (stage 0) feeds \"b\" (stage 1), \"b\" (stage 1) feeds \"d\" (stage "
                        "0)"),
      InfeasibleError);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_partition(list.graph(), times, stages({0, 2, 2, 3}), {}, {})),
      doctest::Contains("1 of 4 stages have no layer"),
      InfeasibleError);
}

TEST_CASE("stages are numbered so that data goes upwards") {
  LayerList list = diamond();
  const Partition cut =
      make_partition(list.graph(), layer_times(list.graph()), stages({2, 1, 1, 0}), {3, 2, 1}, {});
  CHECK(cut.stage_of == stages({0, 1, 1, 2}));
  CHECK(cut.stages[0].replicas == 1);  // was stage 2
  CHECK(cut.stages[2].replicas == 3);
}

TEST_CASE("layers per stage take the model's order and must add up") {
  LayerList list = diamond();
  CHECK(consecutive_stages(list.graph(), {1, 3}) == stages({0, 1, 1, 1}));
  for (const std::vector<std::int64_t>& wrong :
       std::vector<std::vector<std::int64_t>>{{1, 2}, {5}, {4, 0}, {5, -1}}) {
    CHECK_THROWS_AS(static_cast<void>(consecutive_stages(list.graph(), wrong)), InfeasibleError);
  }
}

TEST_CASE("shared parameters on several stages are named, and counted on each") {
  LayerList list = diamond();
  for (const char* name : {"a", "b", "d"}) {
    Layer& layer = list.graph().layers[list.find(name)];
    layer.tied = "words";
    layer.parameters = 50_B;
  }
  const Partition cut =
      make_partition(list.graph(), layer_times(list.graph()), stages({0, 0, 1, 1}), {}, {});
  CHECK(cut.stages[0].parameters == 50_B);
  CHECK(cut.stages[1].parameters == 50_B);
  const std::vector<TiedStages> tied = tied_stages(list.graph(), cut);
  REQUIRE(tied.size() == 1);
  CHECK(tied.front() == TiedStages{.tied = "words", .stages = {0, 1}, .parameters = 50_B});
}
