// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/transformer/transformer.hpp"

#include "sim/base/error.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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

/// 2VH + L (2 H^2 + 2 H K H/A + 3 H F + 2 H) + H with V vocabulary, H hidden, K kv_heads, A heads,
/// F ffn, L layers; word vectors and classifier are not shared.
std::int64_t parameter_count(const TransformerShape& s) {
  const std::int64_t kv_width = s.kv_heads * (s.hidden / s.heads);
  const std::int64_t layer =
      2 * s.hidden * s.hidden + 2 * s.hidden * kv_width + 3 * s.hidden * s.ffn + 2 * s.hidden;
  return 2 * s.vocabulary * s.hidden + s.layers * layer + s.hidden;
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

/// Two layers, 2 sequences of 8 tokens: 16 rows.
TaskGraph small_training_step() {
  return transformer_forward(
      {.shape = {.layers = 2, .hidden = 64, .heads = 4, .kv_heads = 4, .ffn = 96, .vocabulary = 50},
       .batch = 2,
       .tokens = 8,
       .type = DataType::fp32,
       .operators = TransformerOperators::unfused,
       .training = true});
}

std::vector<TaskId> tasks_of(const TaskGraph& graph, std::string_view operation, int layer = -2) {
  std::vector<TaskId> found;
  for (const TaskId task : graph.tasks()) {
    const bool here = layer == -2 || graph.tags(task).layer == layer;
    if (here && graph.operation(task).name == operation) found.push_back(task);
  }
  return found;
}

std::set<TaskId> needed_by(const TaskGraph& graph, TaskId task) {
  std::set<TaskId> all;
  std::vector<TaskId> open{task};
  while (!open.empty()) {
    const TaskId next = open.back();
    open.pop_back();
    for (const TaskId before : graph.predecessors(next)) {
      if (all.insert(before).second) open.push_back(before);
    }
  }
  return all;
}

TEST_CASE("a transformer's backward pass does each product twice, once for each of its factors") {
  const TaskGraph graph = small_training_step();
  double products = 0;
  std::map<TaskClass, int> gemms;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.kind != TaskKind::gemm) continue;
    products += operation.flops().count();
    ++gemms[operation.task_class];
  }
  // Of a layer: four products of 64 x 64, three of 64 x 96; scores and weighted values of 2 x 4
  // pairs of 8 x 8 x 16. Then 50 words. The backward pass is twice that.
  const double layer = 2.0 * 16 * (4 * 64 * 64 + 3 * 64 * 96) + 2 * 2.0 * 8 * 8 * 8 * 16;
  CHECK(products == 3 * (2 * layer + 2.0 * 16 * 64 * 50));
  CHECK(gemms[TaskClass::weight_gradient] == 2 * 7 + 1);
  CHECK(gemms[TaskClass::critical_matmul] == 2 * (7 + 2 * 2) + 1);  // attention has no parameters
  const auto shape = [&](std::string_view name) {
    const Kernel& kernel = graph.operation(tasks_of(graph, name, 0).front()).kernels.front();
    return std::array{kernel.m, kernel.n, kernel.k};
  };
  CHECK(shape("gate_projection") == std::array<std::int64_t, 3>{16, 96, 64});
  CHECK(shape("gate_projection_data_gradient") == std::array<std::int64_t, 3>{16, 64, 96});
  CHECK(shape("gate_projection_weight_gradient") == std::array<std::int64_t, 3>{64, 96, 16});
}

TEST_CASE("gradients of what several operators read are summed") {
  const TaskGraph graph = small_training_step();
  // Of a layer: its input and the sum behind the attention (each read by a norm and by the path
  // around), what both norms cast and what both give, queries and keys before they are rotated.
  // Then what the last norm casts.
  const std::vector<TaskId> sums = tasks_of(graph, "gradient_sum");
  CHECK(sums.size() == 2 * 8 + 1);
  // The first norm's result goes into q, k and v: two additions for each of 16 x 64 elements.
  CHECK(std::ranges::count_if(sums, [&](TaskId task) {
          return graph.operation(task).flops().count() == 2.0 * 16 * 64;
        }) == 2);
  for (const TaskId task : sums) CHECK(graph.predecessors(task).size() >= 2);
}

TEST_CASE("a gradient needs the loss and its activation, an update everything that reads it") {
  const TaskGraph graph = small_training_step();
  const TaskId loss = tasks_of(graph, "loss").front();
  for (const TaskId task : graph.tasks()) {
    const std::string& name = graph.operation(task).name;
    if (name.ends_with("_gradient")) CHECK(needed_by(graph, task).contains(loss));
  }
  for (const int layer : {0, 1}) {
    CAPTURE(layer);
    const TaskId weight = tasks_of(graph, "q_projection_weight_gradient", layer).front();
    const auto before = needed_by(graph, weight);
    CHECK(before.contains(tasks_of(graph, "attention_norm_scale", layer).front()));
    const TaskId later = tasks_of(graph, "down_projection_data_gradient", 1).front();
    CHECK(before.contains(later));  // layer 1 first
  }
  // 7 matrices and 2 norms a layer, word vectors, last norm, classifier.
  const std::vector<TaskId> updates = tasks_of(graph, "update");
  CHECK(updates.size() == 2 * 9 + 3);
  const TensorTable& tensors = graph.tensors();
  for (const TaskId update : updates) {
    const auto before = needed_by(graph, update);
    for (const TensorId id : tensors.ids()) {
      const auto readers = tensors.readers(id);
      if (!tensors.name(id).starts_with("W_")) continue;
      if (std::ranges::find(readers, update) == readers.end()) continue;
      for (const TaskId reader : readers) CHECK((reader == update || before.contains(reader)));
    }
  }
}

TEST_CASE("heads that do not divide are refused with what to change") {
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_workload("llama_decode", {{"heads", std::int64_t{7}}})),
      doctest::Contains("change heads or kv_heads"),
      InfeasibleError);
}

}  // namespace
}  // namespace schedlab
