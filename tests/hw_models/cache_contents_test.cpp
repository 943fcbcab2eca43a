// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cache_contents.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace schedlab {
namespace {

constexpr std::int64_t element = 4;

/// `layers` weights of 1000 x 250 (1 MB), each read by one product [10, 1000] x [1000, 250] in
/// every step. Task ids: step after step, within a step layer after layer.
struct Stack {
  int layers = 4;
  int steps = 5;

  [[nodiscard]] TaskGraph graph() const {
    TaskGraphBuilder builder;
    Kernel product = gemm_kernel(10, 250, 1000, DataType::fp32, false);
    product.bytes_read = Bytes{250'000 * element};  // the weights alone
    const OperationId operation =
        builder.add_operation({.name = "step", .kind = TaskKind::gemm, .kernels = {product}});
    std::vector<TensorId> weights;
    for (int layer = 0; layer < layers; ++layer) {
      weights.push_back(builder.add_tensor({.name = "W",
                                            .bytes = Bytes{250'000 * element},
                                            .accumulate = false,
                                            .persistent = true}));
    }
    for (int i = 0; i < steps * layers; ++i) {
      builder.reads(builder.add_task(operation), weights[static_cast<std::size_t>(i % layers)]);
    }
    return std::move(builder).build();
  }
  [[nodiscard]] std::vector<TaskId> step_by_step() const {
    std::vector<TaskId> order;
    for (int i = 0; i < steps * layers; ++i) order.emplace_back(static_cast<std::uint32_t>(i));
    return order;
  }
  [[nodiscard]] std::vector<TaskId> layer_by_layer() const {
    std::vector<TaskId> order;
    for (int layer = 0; layer < layers; ++layer) {
      for (int step = 0; step < steps; ++step) {
        order.emplace_back(static_cast<std::uint32_t>(step * layers + layer));
      }
    }
    return order;
  }
};

CacheLevels last_level(std::int64_t bytes) {
  return {.last = {.size = Bytes{bytes}}, .units = {}};
}

double sum(const std::vector<CachedShare>& shares) {
  double all = 0;
  for (const CachedShare& share : shares) all += static_cast<double>(share.cached);
  return all;
}

double near_sum(const std::vector<CachedShare>& shares) {
  double all = 0;
  for (const CachedShare& share : shares) all += static_cast<double>(share.unit_cached);
  return all;
}

}  // namespace

TEST_CASE("data leaves a cache between 15 % before and 15 % after its size") {
  const CacheLevel cache{.size = Bytes{1000}};
  CHECK(share_in_cache(850, cache) == doctest::Approx(1));
  CHECK(share_in_cache(925, cache) == doctest::Approx(0.75));
  CHECK(share_in_cache(1000, cache) == doctest::Approx(0.5));
  CHECK(share_in_cache(1150, cache) == doctest::Approx(0));
  CHECK(share_in_cache(1e9, cache) == 0);
}

TEST_CASE("where it was measured what a cache still has, that counts") {
  const CacheLevel cache{.size = Bytes{1000}, .curve = {{0.5, 1.0}, {1.0, 0.8}, {2.0, 0.2}}};
  CHECK(share_in_cache(400, cache) == 1);
  CHECK(share_in_cache(750, cache) == doctest::Approx(0.9));
  CHECK(share_in_cache(1500, cache) == doctest::Approx(0.5));
  CHECK(share_in_cache(5000, cache) == doctest::Approx(0.2));
}

TEST_CASE("weights that are all in the cache are found in every order, the first time as well") {
  const Stack stack;  // 4 MB
  const TaskGraph graph = stack.graph();
  const CacheContents contents{graph, last_level(5'000'000)};  // 5 MB x 0.85 > 4 MB
  REQUIRE(contents.known());
  CHECK(sum(contents.shares(stack.step_by_step())) == doctest::Approx(20));
  CHECK(sum(contents.shares(stack.layer_by_layer())) == doctest::Approx(20));
}

TEST_CASE("a schedule that stays in a layer finds its weights, one that goes round finds none") {
  const Stack stack;
  const TaskGraph graph = stack.graph();
  const CacheContents contents{graph, last_level(2'000'000)};  // half of the weights
  // Round: 4 MB from one use of a layer's weights to the next, the cache loses them at 2.3 MB.
  CHECK(sum(contents.shares(stack.step_by_step())) == doctest::Approx(0));
  // In a layer the first of its 5 uses finds nothing, as 3 MB of others came between.
  CHECK(sum(contents.shares(stack.layer_by_layer())) == doctest::Approx(4 * 4));
}

TEST_CASE("what is in the last-level cache is near too where a schedule comes back to it soon") {
  const Stack stack;
  const TaskGraph graph = stack.graph();
  CacheLevels caches = last_level(5'000'000);
  caches.units.size = Bytes{2'000'000};
  const CacheContents contents{graph, caches};
  // Round: 4 MB from one use to the next, the units' caches lose them at 2.3 MB.
  const auto round = contents.shares(stack.step_by_step());
  CHECK(sum(round) == doctest::Approx(20));
  CHECK(near_sum(round) == doctest::Approx(0));
  // In a layer: 1 MB from the second use on, and 4 MB before the first.
  const auto layers = contents.shares(stack.layer_by_layer());
  CHECK(sum(layers) == doctest::Approx(20));
  CHECK(near_sum(layers) == doctest::Approx(4 * 4));
  // 1 MB ago in caches of 1 MB: half.
  caches.units.size = Bytes{1'000'000};
  CHECK(near_sum(CacheContents{graph, caches}.shares(stack.layer_by_layer())) ==
        doctest::Approx(4 * 4 * 0.5));
  // Nothing is nearer than the last-level cache has it.
  caches.last.size = Bytes{500'000};
  CHECK(near_sum(CacheContents{graph, caches}.shares(stack.layer_by_layer())) ==
        doctest::Approx(0));
}

TEST_CASE("without the units' caches nothing is near, not even what a task has just made") {
  const Stack stack;
  const TaskGraph graph = stack.graph();
  const CacheContents contents{graph, last_level(5'000'000)};
  CHECK(near_sum(contents.shares(stack.layer_by_layer())) == 0);
}

TEST_CASE("what a task adds into is found like what it reads, what it only writes takes capacity") {
  TaskGraphBuilder builder;
  Kernel product = gemm_kernel(250, 1000, 1, DataType::fp32, true);
  product.bytes_read = Bytes{1'000'000};
  product.bytes_written = Bytes{1'000'000};
  const OperationId add =
      builder.add_operation({.name = "add", .kind = TaskKind::gemm, .kernels = {product}});
  const OperationId write = builder.add_operation(
      {.name = "write",
       .kind = TaskKind::pointwise,
       .kernels = {{.kind = TaskKind::pointwise, .bytes_written = Bytes{1'000'000}}}});
  const TensorId sums = builder.add_tensor(
      {.name = "sums", .bytes = Bytes{1'000'000}, .accumulate = true, .persistent = true});
  const TensorId other = builder.add_tensor(
      {.name = "other", .bytes = Bytes{1'000'000}, .accumulate = false, .persistent = false});
  for (int i = 0; i < 2; ++i) builder.writes(builder.add_task(add), sums);
  builder.writes(builder.add_task(write), other);
  const TaskGraph graph = std::move(builder).build();
  const CacheContents contents{graph, last_level(1'500'000)};
  const auto shares = contents.shares(std::vector{TaskId{0}, TaskId{2}, TaskId{1}});
  // 2 MB from the first addition to the second, where 1.725 MB is the end; 1 MB from the second
  // to the first of the next run.
  CHECK(shares[0].cached == doctest::Approx(1));
  CHECK(shares[1].cached == doctest::Approx(0));
  CHECK(shares[2].cached == doctest::Approx(1));  // reads nothing
}

TEST_CASE("kernels of one task have the operands that are as large as their sides say") {
  // Task 0: a product with weights A (1000 x 250, 1 MB), then one with B (500 x 1000, 2 MB). Task 1
  // reads A alone. Order 0, 1: A is used at once again, B after 3 MB.
  TaskGraphBuilder builder;
  const OperationId both =
      builder.add_operation({.name = "both",
                             .kind = TaskKind::composite,
                             .kernels = {gemm_kernel(1, 250, 1000, DataType::fp32, false),
                                         gemm_kernel(1, 1000, 500, DataType::fp32, false)}});
  const OperationId one =
      builder.add_operation({.name = "one",
                             .kind = TaskKind::gemm,
                             .kernels = {gemm_kernel(1, 250, 1000, DataType::fp32, false)}});
  const auto tensor = [&](std::int64_t bytes) {
    return builder.add_tensor(
        {.name = "W", .bytes = Bytes{bytes}, .accumulate = false, .persistent = true});
  };
  const TensorId a = tensor(1'000'000);
  const TensorId b = tensor(2'000'000);
  const TaskId first = builder.add_task(both);
  builder.reads(first, a);
  builder.reads(first, b);
  const TaskId second = builder.add_task(one);
  builder.reads(second, a);
  const TaskGraph graph = std::move(builder).build();
  const CacheContents contents{graph, last_level(2'000'000)};
  REQUIRE(contents.kernel_count(first) == 2);
  const auto shares = contents.shares(std::vector{first, second});
  // A: 1 MB since task 1, in 2 MB. B: 2 MB of its own and 1 MB of A since the run before, out of
  // 2.3 MB. Their vectors of 4 kB and 2 kB are made in the task: there.
  CHECK(shares[0].cached == doctest::Approx(1));
  CHECK(shares[1].cached == doctest::Approx(2'000.0 / 2'002'000).epsilon(1e-4));
  // Its A: 3 MB since the task before used both at once, itself among them.
  CHECK(shares[contents.first_kernel(second)].cached == doctest::Approx(0));
}

TEST_CASE("a graph without tensors, or a cache without a size, says nothing of caches") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "any"});
  builder.add_task(operation);
  const TaskGraph bare = std::move(builder).build();
  CHECK_FALSE(CacheContents(bare, last_level(1000)).known());
  const TaskGraph graph = Stack{}.graph();
  CHECK_FALSE(CacheContents(graph, {}).known());
}

}  // namespace schedlab
