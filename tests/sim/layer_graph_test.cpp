// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/layer_graph.hpp"

#include "sim/base/error.hpp"
#include "tests/sim/layer_graphs.hpp"

#include <doctest/doctest.h>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::test::LayerList;

namespace {

/// Half a picosecond per FLOP, and nothing else.
class TwoTeraflops final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "two_teraflops"; }
  [[nodiscard]] Estimate estimate(const Operation& operation,
                                  const Device& /*device*/) const override {
    Estimate estimate;
    estimate.duration = operation.flops() / 2_TFLOP_per_s;
    return estimate;
  }
};

}  // namespace

TEST_CASE("times of layers are fixed durations, and estimates where there are kernels") {
  LayerList list;
  list.add("known", 3us, {}).add("estimated", 0us, {"known"});
  LayerGraph& graph = list.graph();
  // 2 * 10 * 20 * 30 = 12,000 FLOP at 2 TFLOP/s are 6,000 ps.
  graph.operations[list.last().forward].kernels = {gemm_kernel(10, 20, 30, DataType::fp32, false)};
  const auto times = layer_times(graph, TwoTeraflops{}, Device{});
  CHECK(times[list.find("known")].microbatch() == 9us);
  CHECK(times[list.find("estimated")].forward == 6000_ps);
  CHECK(times[list.find("estimated")].update == 0us);
  CHECK(needs_machine(graph));
  CHECK_THROWS_WITH_AS(static_cast<void>(layer_times(graph)),
                       doctest::Contains("estimated.forward"),
                       InfeasibleError);
}

TEST_CASE("shared parameters count once") {
  LayerList list;
  list.add("embedding", 1us, {}).last().parameters = 100_B;
  list.last().tied = "words";
  list.add("middle", 1us, {"embedding"}).last().parameters = 7_B;
  list.add("logits", 1us, {"middle"}).last().parameters = 100_B;
  list.last().tied = "words";
  CHECK(parameter_bytes(list.graph()) == 107_B);
  list.last().parameters = 99_B;
  CHECK_THROWS_WITH_AS(check_layers(list.graph(), "net.json"),
                       doctest::Contains("99 bytes of the shared parameters \"words\""),
                       InputError);
}

TEST_CASE("layers whose sums cannot be counted are refused") {
  LayerList list;
  list.add("a", 200'000s, {}).add("b", 200'000s, {"a"});  // three passes each: 1.2 million s
  CHECK_THROWS_WITH_AS(check_layers(list.graph(), "net.json"),
                       doctest::Contains("up to the end of layer \"b\""),
                       InputError);
}

TEST_CASE("wrong layers are refused by name and place") {
  LayerList list;
  CHECK_THROWS_WITH_AS(
      check_layers(list.graph(), "net.json"), doctest::Contains("no layer"), InputError);
  list.add("a", 1us, {}).add("b", 1us, {"a"});
  CHECK_NOTHROW(check_layers(list.graph(), "net.json"));
  list.last().inputs = {LayerId{7}};
  CHECK_THROWS_WITH_AS(check_layers(list.graph(), "net.json"),
                       doctest::Contains("net.json: /layers/1: found the input 7 of layer \"b\""),
                       InputError);
  list.last().inputs.clear();
  list.last().name = "a";
  CHECK_THROWS_WITH_AS(
      check_layers(list.graph(), "net.json"), doctest::Contains("second time"), InputError);
}
