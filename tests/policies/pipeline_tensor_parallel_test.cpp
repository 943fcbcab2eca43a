// SPDX-License-Identifier: Apache-2.0
// Stages that several ranks share: what each does, who is where, what the schedules cost.
#include "hw_models/collective.hpp"
#include "sim/base/error.hpp"
#include "tests/policies/gpt_pipeline_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace schedlab {
namespace {

using namespace literals;
using testing::GptRun;
using testing::joins_of;
using testing::layer_named;
using testing::pipeline_policy_names;
using testing::product_flops;
using testing::small_gpt;

}  // namespace

TEST_CASE("ranks that share a block divide its products and parameters, and join twice each way") {
  const LayerGraph whole = gpt_layer_graph(small_gpt(1));
  const Layer& block = layer_named(whole, "block_0");
  CHECK(block.joins.empty());
  for (const std::int64_t ranks : {2, 4, 8}) {
    const LayerGraph part = gpt_layer_graph(small_gpt(ranks));
    const Layer& own = layer_named(part, "block_0");
    for (const LayerPass pass :
         {LayerPass::forward, LayerPass::backward_data, LayerPass::backward_weight}) {
      CHECK(product_flops(part, own, pass) * static_cast<double>(ranks) ==
            product_flops(whole, block, pass));
    }
    // Each rank has both norms (2 h each) and the biases behind the sums (h each) whole: 6 h of 4
    // bytes; all else is divided.
    const std::int64_t everywhere = 6 * 256 * 4;
    CHECK((own.parameters.count() - everywhere) * ranks == block.parameters.count() - everywhere);
    CHECK(own.activation == block.activation);
    CHECK(joins_of(own, LayerPass::forward, CollectiveOp::all_reduce) == 2);
    CHECK(joins_of(own, LayerPass::backward_data, CollectiveOp::all_reduce) == 2);
    CHECK(joins_of(own, LayerPass::backward_weight, CollectiveOp::all_reduce) == 0);
    for (const LayerJoin& join : own.joins) {
      CHECK(join.bytes == Bytes{2 * 64 * 256 * 4});  // samples x window x hidden, fp32
    }
    CHECK(layer_named(part, "logits").joins.size() == 4);
    CHECK(layer_named(part, "embedding").joins.size() == 1);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(gpt_layer_graph(small_gpt(3))),
                       doctest::Contains("8 heads"),
                       InfeasibleError);
}

TEST_CASE("an all-reduce stands between the product that makes the parts and what reads the sum") {
  GptSpec spec = small_gpt(2);
  spec.operators = true;
  const LayerGraph graph = gpt_layer_graph(spec);
  // Forward: the product, then the sum, then bias and residual. Backward of ffn_up: activation,
  // product, sum.
  const Layer& down = layer_named(graph, "block_0.ffn_down");
  REQUIRE(down.joins.size() == 1);
  CHECK(down.joins[0].kernels == 1);
  CHECK(graph.operations[down.forward].kernels.size() == 3);
  const Layer& up = layer_named(graph, "block_0.ffn_up");
  REQUIRE(up.joins.size() == 1);
  CHECK(up.joins[0].pass == LayerPass::backward_data);
  CHECK(up.joins[0].kernels == 2);
  CHECK(graph.operations[up.backward_data].kernels.size() == 2);
}

TEST_CASE("sequence parallelism scatters and gathers what was summed, and keeps less") {
  const LayerGraph plain = gpt_layer_graph(small_gpt(4));
  const LayerGraph divided = gpt_layer_graph(small_gpt(4, true));
  const Layer& block = layer_named(divided, "block_1");
  CHECK(joins_of(block, LayerPass::forward, CollectiveOp::all_gather) == 2);
  CHECK(joins_of(block, LayerPass::forward, CollectiveOp::reduce_scatter) == 2);
  CHECK(joins_of(block, LayerPass::backward_data, CollectiveOp::all_gather) == 2);
  CHECK(joins_of(block, LayerPass::backward_data, CollectiveOp::reduce_scatter) == 2);
  CHECK(joins_of(block, LayerPass::backward_weight, CollectiveOp::all_gather) == 2);
  CHECK(joins_of(block, LayerPass::forward, CollectiveOp::all_reduce) == 0);
  // Two norms and two residuals keep a state each: 4 x 2 x 64 x 256 elements, of which 3/4 go.
  const std::int64_t state = std::int64_t{2} * 64 * 256 * 4;
  CHECK(layer_named(plain, "block_1").kept.count() - block.kept.count() == 4 * state * 3 / 4);
  CHECK(block.activation.count() == state / 4);
}

TEST_CASE("ranks that share a stage are neighbours, and sums go over equal parts of all replicas") {
  const GptRun run({{"stages", std::int64_t{2}},
                    {"replicas", std::int64_t{2}},
                    {"tensor_parallel", std::int64_t{4}},
                    {"microbatches", std::int64_t{2}}});
  REQUIRE(run.graph.rank_count() == 16);
  const PipelineRanks ranks = pipeline_ranks(run.graph);
  CHECK(ranks == PipelineRanks{.replicas = 2, .places = 2, .tensor_parallel = 4});
  std::set<std::vector<std::uint32_t>> within;
  std::set<std::vector<std::uint32_t>> between;
  for (const CollectiveId id : run.graph.collectives().ids()) {
    std::vector<std::uint32_t> joined;
    bool sum_of_gradients = false;
    for (const TaskId task : run.graph.collectives().tasks(id)) {
      joined.push_back(run.graph.rank(task));
      sum_of_gradients = pipeline_work(run.graph.tags(task)) == PipelineWork::all_reduce;
    }
    std::sort(joined.begin(), joined.end());
    (sum_of_gradients ? between : within).insert(joined);
  }
  CHECK(within == std::set<std::vector<std::uint32_t>>{
                      {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}});
  // Each part of a stage with the same part of the other group's; the word vectors, which the first
  // and the last stage have, on four ranks.
  CHECK(between.contains({0, 8}));
  CHECK(between.contains({7, 15}));
  CHECK(between.contains({1, 5, 9, 13}));
  CHECK(between.size() == 8 + 4);
}

TEST_CASE(
    "without a pipeline an iteration takes one rank's kernels and the collectives, one by one") {
  for (const bool sequence_parallel : {false, true}) {
    GptRun run({{"stages", std::int64_t{1}},
                {"tensor_parallel", std::int64_t{2}},
                {"sequence_parallel", sequence_parallel},
                {"microbatches", std::int64_t{1}},
                {"samples", std::int64_t{64}}});
    // No gaps or launches: what is left are durations.
    run.platform.sharing = SharingModel::exclusive;
    run.platform.hosts[HostId{0}] = {};
    run.platform.devices[DeviceId{0}].launch_latency = Duration{0};
    run.platform.devices[DeviceId{0}].stream_gap = Duration{0};
    run.costs = CostTable(run.graph, run.platform, *make_cost_model("tiled_gemm"));
    Duration sum{0};
    for (const TaskId task : run.graph.tasks()) {
      if (run.graph.rank(task) == 0) sum += run.costs.duration(task);
    }
    CHECK(simulate(run.problem(), run.plan).makespan() == sum);
    // The first collective: what the network says of its bytes among both.
    const CollectiveId first{0};
    const std::vector<std::uint32_t> both{0, 1};
    CHECK(run.costs.duration(first) ==
          collective_time(run.graph.collectives().spec(first), both, run.platform).total());
  }
}

TEST_CASE("every schedule runs with shared stages, and shares memory") {
  for (const std::string& policy : pipeline_policy_names()) {
    for (const std::string transfers : {"overlapped", "blocking"}) {
      CAPTURE(policy);
      const auto peak = [&](std::int64_t ranks) {
        const GptRun run({{"stages", std::int64_t{2}},
                          {"tensor_parallel", ranks},
                          {"microbatches", std::int64_t{4}},
                          {"replicas", std::int64_t{2}}},
                         policy,
                         {{"transfers", transfers}});
        Bytes most{};
        for (const DeviceMemory& each : memory_use(run.problem(), run.trace)) {
          most = std::max(most, each.peak);
        }
        return static_cast<double>(most.count());
      };
      const double alone = peak(1);
      CHECK(peak(2) < 0.7 * alone);
      CHECK(peak(4) < 0.5 * alone);
    }
  }
}

}  // namespace schedlab
