// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/transformer/transformer.hpp"

#include "sim/base/error.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace schedlab {
namespace {

const TransformerModel& model(const std::string& name) {
  for (const TransformerModel& each : transformer_models()) {
    if (each.name == name) return each;
  }
  throw ContractViolation(name);
}

struct Totals {
  double matmul_flops = 0;
  std::int64_t weight_bytes = 0;  ///< tensors W_...
  std::int64_t cache_bytes = 0;
  double read = 0;
};

Totals totals_of(const TaskGraph& graph) {
  Totals totals;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.kind == TaskKind::gemm) totals.matmul_flops += operation.flops().count();
    totals.read += static_cast<double>(operation.bytes_read().count());
  }
  const TensorTable& tensors = graph.tensors();
  for (const TensorId id : tensors.ids()) {
    const std::string name = tensors.name(id);
    if (name.starts_with("W_")) totals.weight_bytes += tensors.bytes(id).count();
    if (name.find("_cache") != std::string::npos) totals.cache_bytes += tensors.bytes(id).count();
  }
  return totals;
}

TEST_CASE("LLaMA-7B has the parameters that are published, and the pass holds them all") {
  const TransformerShape shape = model("llama_7b").shape;
  // 2 * 32000 * 4096 + 32 * (4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096) + 4096
  CHECK(parameter_count(shape) == 6'738'415'616);
  const Totals totals = totals_of(transformer_forward({.shape = shape, .context = 511}));
  CHECK(totals.weight_bytes == 2 * 6'738'415'616);
  // Keys and values of 512 tokens, 32 layers, 4096 wide, 2 bytes.
  CHECK(totals.cache_bytes == 2LL * 512 * 32 * 4096 * 2);
  // Each weight but the table of word vectors is read once, and the cache.
  CHECK(totals.read > 2.0 * (6'738'415'616 - 32000.0 * 4096) + 2.0 * 512 * 32 * 4096 * 2);
  CHECK(totals.read < 1.01 * 2.0 * 6'738'415'616);
}

TEST_CASE("decoding takes two FLOP per weight, and the attention's products") {
  const TransformerShape shape = model("llama_7b").shape;
  const Totals totals = totals_of(transformer_forward(
      {.shape = shape, .batch = 3, .context = 99, .operators = TransformerOperators::unfused}));
  // Per token: 2 * (32 * (4 * 4096^2 + 3 * 4096 * 11008) + 32000 * 4096) for the weights; two
  // products of 4096 with 100 keys or values in each of 32 layers.
  const double weights = 2.0 * (32.0 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) + 32000.0 * 4096);
  const double attention = 32.0 * 2 * 2 * 4096 * 100;
  CHECK(totals.matmul_flops == doctest::Approx(3 * (weights + attention)).epsilon(1e-12));
}

TEST_CASE("layers have 15 kernels fused and 46 unfused, two more with grouped keys") {
  TransformerShape shape = model("llama_7b").shape;
  const auto tasks = [&](TransformerOperators operators, std::int64_t small) {
    return transformer_forward({.shape = shape, .operators = operators, .small_operators = small})
        .task_count();
  };
  using enum TransformerOperators;
  CHECK(tasks(fused, 0) == 32 * 15 + 4);     // and embedding, norm, logits, choice
  CHECK(tasks(unfused, 0) == 32 * 46 + 11);  // the norm is 8 kernels
  CHECK(tasks(fused, 2) == 32 * 17 + 4);
  shape.kv_heads = 8;
  CHECK(tasks(fused, 0) == 32 * 15 + 4);
  CHECK(tasks(unfused, 0) == 32 * 48 + 11);
}

TEST_CASE("the graph that stands for Pangu-71B has about its parameters and nodes") {
  const TransformerModel& pangu = model("pangu_71b_like");
  // 80 * (2 * 8192^2 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192) + 2 * 150000 * 8192 + 8192
  CHECK(parameter_count(pangu.shape) == 70'909'960'192);
  const TaskGraph graph = make_workload(
      "llama_decode", {{"model", std::string{"pangu_71b_like"}}, {"include_tensors", false}});
  CHECK(graph.task_count() == 80 * (48 + 30) + 11);  // 6251; published: about 6300
}

TEST_CASE("a prompt does the work of its tokens at once; fused attention skips what is not seen") {
  const TransformerShape shape{
      .layers = 1, .hidden = 64, .heads = 4, .kv_heads = 2, .ffn = 96, .vocabulary = 50};
  const auto flops = [&](TransformerOperators operators) {
    return totals_of(transformer_forward(
                         {.shape = shape, .batch = 2, .tokens = 10, .operators = operators}))
        .matmul_flops;
  };
  // 20 rows: q and o 64 x 64, k and v 64 x 32, three of 64 x 96; logits of the 2 last tokens.
  const double dense = 2.0 * 20 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96) + 2.0 * 2 * 64 * 50;
  // All 10 x 10 weights of 2 * 4 heads of 16.
  CHECK(flops(TransformerOperators::unfused) == doctest::Approx(dense + 2.0 * 2 * 8 * 100 * 16));
  // Token i sees i keys: 55 weights, two products and 5 FLOP of softmax each.
  CHECK(flops(TransformerOperators::fused) == doctest::Approx(dense + 8.0 * 55 * (4 * 16 + 5)));
}

TEST_CASE("a part of a divided model has its share of the products, and the sums join all parts") {
  const TransformerShape shape = model("llama_2_70b").shape;
  const auto part = [&](std::int64_t ranks) {
    return transformer_forward({.shape = shape, .context = 99, .tensor_parallel = ranks});
  };
  const double whole = totals_of(part(1)).matmul_flops;
  CHECK(totals_of(part(8)).matmul_flops == doctest::Approx(whole / 8));
  // 8 heads of keys and values: on 16 ranks each head is on two, whose projections are as long.
  const double keys = 80.0 * 2 * 2 * 8192 * 1024 / 16;
  CHECK(totals_of(part(16)).matmul_flops == doctest::Approx(whole / 16 + keys));
  const TaskGraph all = TensorParallel{{.ranks = 8, .joins = transformer_joins()}}.apply(part(8));
  // Two sums a layer and the logits, on each of 8 ranks.
  CHECK(all.collectives().size() == 2 * 80 + 1);
  CHECK(all.task_count() == 8 * (80 * 15 + 4 + 2 * 80 + 1));
  CHECK(all.rank_count() == 8);
  for (const CollectiveId id : all.collectives().ids()) {
    const CollectiveSpec& spec = all.collectives().spec(id);
    CHECK(all.collectives().tasks(id).size() == 8);
    // A hidden state of 8192, or 32000 logits, of 2 bytes.
    CHECK(spec.bytes == Bytes{spec.op == CollectiveOp::all_reduce ? 2 * 8192 : 2 * 32000});
  }
  CHECK_THROWS_AS(part(7), InfeasibleError);
}

TEST_CASE("heads that do not divide are refused with what to change") {
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_workload("llama_decode", {{"heads", std::int64_t{7}}})),
      doctest::Contains("change heads or kv_heads"),
      InfeasibleError);
}

}  // namespace
}  // namespace schedlab
