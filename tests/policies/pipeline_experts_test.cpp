// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: what each rank does, what travels, who sums whose gradients.
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "tests/policies/gpt_pipeline_support.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace schedlab {
namespace {

using testing::GptRun;
using testing::layer_named;
using testing::product_flops;
using testing::small_gpt;

/// 2 sequences of 64 tokens, width 256; 8 experts of width 512, 2 for each token.
GptSpec expert_gpt(std::int64_t ranks, double exponent = 0) {
  GptSpec spec = small_gpt(1);
  spec.experts = 8;
  spec.expert_hidden = 512;
  spec.expert_parallel = ranks;
  spec.routing_exponent = exponent;
  return spec;
}

constexpr std::array all_passes{
    LayerPass::forward, LayerPass::backward_data, LayerPass::backward_weight};

std::map<std::string, OptionValue> expert_options(std::int64_t ranks) {
  return {{"experts", std::int64_t{8}},
          {"expert_parallel", ranks},
          {"stages", std::int64_t{2}},
          {"microbatches", std::int64_t{4}},
          {"samples", std::int64_t{2}}};
}

double makespan_us(std::map<std::string, OptionValue> options) {
  return to_us(GptRun{std::move(options)}.trace.makespan());
}

}  // namespace

TEST_CASE("tokens go to the ranks of their experts by shares, and none is lost") {
  // 2 ranks x 128 tokens x 2 experts each = 512. Shares 1, 1/2, ... 1/8 add up to 761/280; the
  // first four to 25/12: 0.7665 of all.
  CHECK(tokens_of_expert_ranks(expert_gpt(2)) == std::vector<std::int64_t>{256, 256});
  CHECK(tokens_of_expert_ranks(expert_gpt(2, 1)) == std::vector<std::int64_t>{392, 120});
  GptSpec given = expert_gpt(4);
  given.routing = {3, 1, 0, 0, 2, 2, 0, 0};
  CHECK(tokens_of_expert_ranks(given) == std::vector<std::int64_t>{512, 0, 512, 0});
  for (const double exponent : {0.3, 1.0, 2.5}) {
    const auto tokens = tokens_of_expert_ranks(expert_gpt(8, exponent));
    CHECK(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}) == 8 * 128 * 2);
    CHECK(std::is_sorted(tokens.rbegin(), tokens.rend()));
  }
}

TEST_CASE("FLOPs of all ranks are those of as many models with all experts, however skewed") {
  const LayerGraph whole = gpt_layer_graph(expert_gpt(1));
  const Layer& block = layer_named(whole, "block_0");
  for (const double exponent : {0.0, 0.7, 1.5}) {
    for (const std::int64_t ranks : {2, 4, 8}) {
      CAPTURE(exponent);
      CAPTURE(ranks);
      LayerGraph part = gpt_layer_graph(expert_gpt(ranks, exponent));
      const Layer own = layer_named(part, "block_0");
      CHECK(part.other_operations.size() ==
            (exponent == 0 ? 0U : static_cast<std::size_t>(ranks - 1)));
      for (const LayerPass pass : all_passes) {
        double sum = product_flops(part, own, pass);
        for (std::int64_t lane = 1; lane < ranks; ++lane) {
          if (!part.other_operations.empty()) {
            part.operations = part.other_operations[static_cast<std::size_t>(lane - 1)];
          }
          sum += product_flops(part, own, pass);
        }
        CHECK(sum == product_flops(whole, block, pass) * static_cast<double>(ranks));
        part.operations = gpt_layer_graph(expert_gpt(ranks, exponent)).operations;
      }
    }
  }
}

TEST_CASE("a block dispatches and combines each way; bytes are those of the busiest rank") {
  const auto exchanges = [](const GptSpec& spec) {
    const LayerGraph graph = gpt_layer_graph(spec);
    return layer_named(graph, "block_0").joins;
  };
  CHECK(exchanges(expert_gpt(1)).empty());
  for (const auto& [exponent, tokens] : {std::pair{0.0, 256}, std::pair{1.0, 392}}) {
    const std::vector<LayerJoin> joins = exchanges(expert_gpt(2, exponent));
    REQUIRE(joins.size() == 4);
    CHECK(std::count_if(joins.begin(), joins.end(), [](const LayerJoin& join) {
            return join.pass == LayerPass::forward;
          }) == 2);
    for (const LayerJoin& join : joins) {
      CHECK(join.op == CollectiveOp::all_to_all);
      CHECK(join.bytes == Bytes{tokens * 256 * 4});  // fp32
    }
  }
}

TEST_CASE("experts are divided, all else of a block is on each rank") {
  // h = 256, w = 512: attention 4 h^2 + 8 h, router 8 h, an expert 2 h w + h + w.
  constexpr std::int64_t dense = 4 * 256 * 256 + 8 * 256 + 8 * 256;
  constexpr std::int64_t expert = 2 * 256 * 512 + 256 + 512;
  for (const std::int64_t ranks : {1, 2, 8}) {
    const LayerGraph graph = gpt_layer_graph(expert_gpt(ranks));
    const Layer& block = layer_named(graph, "block_0");
    CHECK(block.parameters.count() == 4 * (dense + 8 / ranks * expert));
    CHECK(block.expert_parameters.count() == (ranks == 1 ? 0 : 4 * (8 / ranks) * expert));
  }
}

TEST_CASE(
    "gradients: of experts over replicas, of all else over the ranks that share experts too") {
  std::map<std::string, OptionValue> options = expert_options(2);
  options["replicas"] = std::int64_t{2};
  options["tied"] = false;
  const GptRun run{options};
  CHECK(run.graph.rank_count() == 2 * 2 * 2);
  std::map<std::size_t, Bytes> by_parts;
  for (const CollectiveId id : run.graph.collectives().ids()) {
    if (run.graph.collectives().spec(id).op != CollectiveOp::all_reduce) continue;
    by_parts[run.graph.collectives().tasks(id).size()] += run.graph.collectives().spec(id).bytes;
  }
  // 4 blocks of 8 experts in fp32, h = 256, w = 1024; half of them on each rank.
  const std::int64_t experts = std::int64_t{4} * 4 * 8 * (2 * 256 * 1024 + 256 + 1024);
  REQUIRE(by_parts.size() == 2);
  CHECK(by_parts.at(2) == Bytes{experts});  // 2 lanes x half
  const LayerGraph whole = [] {
    GptSpec spec = small_gpt(1);
    spec.blocks = 4;
    spec.experts = 8;
    spec.tied = false;
    return gpt_layer_graph(spec);
  }();
  CHECK(by_parts.at(4) == parameter_bytes(whole) - Bytes{experts});
}

TEST_CASE("an iteration with skewed routing takes longer, with a file as its shares say") {
  const double balanced = makespan_us(expert_options(4));
  std::map<std::string, OptionValue> options = expert_options(4);
  options["routing_exponent"] = 1.2;
  CHECK(makespan_us(options) > balanced);
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "routing.txt").string();
  write_file_atomically(path, "5, 5 5 5\n5 5 5,5\n");
  options = expert_options(4);
  options["routing_path"] = path;
  CHECK(makespan_us(options) == balanced);
  write_file_atomically(path, "1 2 3\n");
  CHECK_THROWS_AS(makespan_us(options), InfeasibleError);
  write_file_atomically(path, "1 2 x\n");
  CHECK_THROWS_AS(makespan_us(options), InputError);
}

TEST_CASE("experts that cannot be divided are refused") {
  for (const auto& change :
       std::vector<void (*)(GptSpec&)>{[](GptSpec& spec) { spec.expert_parallel = 3; },
                                       [](GptSpec& spec) { spec.experts = 0; },
                                       [](GptSpec& spec) { spec.experts_per_token = 9; },
                                       [](GptSpec& spec) { spec.tensor_parallel = 2; }}) {
    GptSpec spec = expert_gpt(2);
    change(spec);
    CHECK_THROWS_AS(static_cast<void>(gpt_layer_graph(spec)), InfeasibleError);
  }
}

}  // namespace schedlab
