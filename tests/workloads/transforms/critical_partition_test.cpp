// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/critical_partition.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"
#include "sim/graph/row_kernels.hpp"
#include "workloads/models/recurrent/separate_gates.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

RecurrentSpec gradients(std::int64_t layers, std::int64_t steps) {
  RecurrentSpec spec;
  spec.layers = layers;
  spec.steps = steps;
  spec.batch = 32;
  spec.hidden = 256;
  spec.granularity = Granularity::matmul;
  spec.separate_gates = true;
  return spec;
}

/// S1's name of what a partition of separate gradients makes.
std::string published_name(const std::string& name) {
  if (name.starts_with("cell_state+")) return "cell";
  if (name == "weight_2+bias") return "weight_2";
  return name;
}

using Place = std::tuple<std::string, int, int>;  // operation, layer, step

Place place(const TaskGraph& graph, TaskId task) {
  return {
      published_name(graph.operation(task).name), graph.tags(task).layer, graph.tags(task).step};
}

std::map<Place, Operation> operations_by_place(const TaskGraph& graph) {
  std::map<Place, Operation> found;
  for (const TaskId task : graph.tasks()) {
    Operation operation = graph.operation(task);
    operation.name = published_name(operation.name);
    found.emplace(place(graph, task), operation);
  }
  return found;
}

std::set<std::pair<Place, Place>> edges_by_place(const TaskGraph& graph) {
  std::set<std::pair<Place, Place>> found;
  for (const TaskId task : graph.tasks()) {
    for (const TaskId next : graph.successors(task)) {
      found.emplace(place(graph, task), place(graph, next));
    }
  }
  return found;
}

double flops(const TaskGraph& graph) {
  double sum = 0;
  for (const TaskId task : graph.tasks()) sum += graph.operation(task).flops().count();
  return sum;
}

}  // namespace

TEST_CASE("separate gates have the FLOPs of a cell and hand the same gradients on") {
  const RecurrentSpec spec = gradients(3, 4);
  RecurrentSpec whole = spec;
  whole.separate_gates = false;
  const TaskGraph apart = recurrent(spec);
  const TaskGraph cells = recurrent(whole);
  CHECK(apart.task_count() == cells.task_count() + 3U * 4U * 4U);
  CHECK(flops(apart) == flops(cells));
}

TEST_CASE("a product for each gate needs its gate alone, sums in turn and adds into its columns") {
  RecurrentSpec spec = gradients(3, 4);
  const TaskGraph gates = recurrent(spec);
  const TaskGraph products = recurrent_by_gate(spec);
  // hidden_1, hidden_2, weight_1 and weight_2 of 12 nodes are four tasks each.
  CHECK(products.task_count() == gates.task_count() + 12U * 4U * 3U);
  CHECK(flops(products) == flops(gates));
  const auto bytes = [](const TaskGraph& graph) {
    std::int64_t sum = 0;
    for (const TensorId id : graph.tensors().ids()) sum += graph.tensors().bytes(id).count();
    return sum;
  };
  CHECK(bytes(products) == bytes(gates));
  const auto edges = edges_by_place(products);
  const auto needs = [&](const std::string& name, int layer, int step) {
    std::set<Place> found;
    for (const auto& [from, to] : edges) {
      if (to == Place{name, layer, step}) found.insert(from);
    }
    return found;
  };
  CHECK(needs("hidden_1_input_gate", 1, 2) == std::set<Place>{{"input_gate", 1, 2}});
  CHECK(needs("hidden_1_forget_gate", 1, 2) ==
        std::set<Place>{{"forget_gate", 1, 2}, {"hidden_1_input_gate", 1, 2}});
  CHECK(needs("weight_2_cell_gate", 1, 2) ==
        std::set<Place>{{"cell_gate", 1, 2}, {"weight_2_cell_gate", 1, 3}});
  // Of the step behind its state and the sum; of the layer above the sum: all that write them.
  std::set<Place> before{{"cell_state", 1, 3}};
  for (const char* gate : {"input_gate", "forget_gate", "cell_gate", "output_gate"}) {
    before.insert({std::string{"hidden_1_"} + gate, 1, 3});
    before.insert({std::string{"hidden_2_"} + gate, 2, 2});
  }
  CHECK(needs("cell_state", 1, 2) == before);
  const auto operations = operations_by_place(products);
  const Kernel& hidden = operations.at({"hidden_1_cell_gate", 0, 0}).kernels.front();
  CHECK(std::array{hidden.m, hidden.n, hidden.k} == std::array<std::int64_t, 3>{32, 256, 256});
  const Kernel& weight = operations.at({"weight_1_cell_gate", 0, 0}).kernels.front();
  CHECK(std::array{weight.m, weight.n, weight.k} == std::array<std::int64_t, 3>{256, 256, 32});
  for (const Accumulation accumulation : {Accumulation::partial, Accumulation::batched}) {
    spec.accumulation = accumulation;
    CHECK(flops(recurrent_by_gate(spec)) == flops(recurrent(spec)));
  }
  spec.separate_gates = false;
  CHECK_THROWS_WITH_AS(static_cast<void>(recurrent_by_gate(spec)),
                       doctest::Contains("separate_gates"),
                       InfeasibleError);
}

TEST_CASE("the partition of an LSTM's gradients is the published one, task by task") {
  // Cell, hidden_1, hidden_2, weight_1, weight_2 with the classes, kernels and dependencies of the
  // generator's `fine` cut, which is figure 5 of S1 written down by hand.
  for (const auto& [layers, steps] : {std::pair{2, 3}, {4, 5}}) {
    for (const std::int64_t batch : {16, 256}) {
      for (const std::int64_t hidden : {128, 2048}) {
        CAPTURE(layers);
        CAPTURE(batch);
        CAPTURE(hidden);
        RecurrentSpec spec = gradients(layers, steps);
        spec.batch = batch;
        spec.hidden = hidden;
        const TaskGraph found = CriticalPartition{}.apply(recurrent(spec));
        spec.separate_gates = false;
        spec.granularity = Granularity::fine;
        const TaskGraph published = recurrent(spec);
        CHECK(found.task_count() == published.task_count());
        CHECK(operations_by_place(found) == operations_by_place(published));
        CHECK(edges_by_place(found) == edges_by_place(published));
      }
    }
  }
}

TEST_CASE("of one layer the gradient of the input is not needed, so hidden_2 may be put off") {
  const TaskGraph found = CriticalPartition{}.apply(recurrent(gradients(1, 6)));
  for (const TaskId task : found.tasks()) {
    const std::string name = published_name(found.operation(task).name);
    CHECK(found.critical(task) == (name == "cell" || name == "hidden_1"));
  }
}

TEST_CASE("directions of a layer are partitioned like layers") {
  RecurrentSpec spec = gradients(2, 4);
  spec.bidirectional = Bidirectional::all;
  const TaskGraph found = CriticalPartition{}.apply(recurrent(spec));
  CHECK(found.task_count() == 4U * 4U * 5U);
}

TEST_CASE("what the analysis finds critical in networks is what their generators declare") {
  // Weight gradients are put off, the rest of a step is not. ResNet's last weight gradient ends the
  // backward pass beside the last data gradient, so a few operations may be judged otherwise.
  for (const char* network : {"alexnet", "resnet50", "inception_v3"}) {
    CAPTURE(network);
    const TaskGraph graph = make_workload(network, {{"batch", std::int64_t{32}}});
    const IdVector<TaskId, std::uint8_t> critical = critical_tasks(graph);
    std::size_t same = 0;
    std::size_t judged = 0;
    for (const TaskId task : graph.tasks()) {
      const TaskClass declared = graph.operation(task).task_class;
      if (declared == TaskClass::update || declared == TaskClass::transfer) continue;
      ++judged;
      if ((critical[task] != 0) == is_critical(declared)) ++same;
    }
    CHECK(same >= judged * 95 / 100);
  }
}

TEST_CASE("a partition keeps FLOPs and what depends on what") {
  for (const char* network : {"resnet50", "inception_v3"}) {
    CAPTURE(network);
    const TaskGraph graph = make_workload(network, {{"batch", std::int64_t{8}}});
    const TaskGraph found = CriticalPartition{}.apply(graph);
    CHECK(found.task_count() < graph.task_count());
    CHECK(flops(found) == doctest::Approx(flops(graph)).epsilon(1e-12));
  }
}

TEST_CASE("the lanes of a graph are as many as it has tasks side by side") {
  // a -> (b, c, d) -> e, all of one size: three lanes, of which the first has a, one of b, c, d and
  // e.
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation(
      {.name = "task", .kind = TaskKind::fixed, .kernels = {}, .fixed_duration = 10us});
  std::vector<TaskId> tasks;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    tasks.push_back(builder.add_task(operation, {}, name));
  }
  for (std::size_t i = 1; i < 4; ++i) {
    builder.add_edge(tasks[0], tasks[i]);
    builder.add_edge(tasks[i], tasks[4]);
  }
  const TaskGraph found = CriticalPartition{}.apply(std::move(builder).build());
  std::map<int, int> by_lane;
  for (const TaskId task : found.tasks()) ++by_lane[found.tags(task).layer];
  CHECK(by_lane == std::map<int, int>{{0, 3}, {1, 1}, {2, 1}});
}

TEST_CASE("a short task joins what it waits for, a long one stays apart") {
  // long -> short -> long: the short one joins the first, as it needs nothing else.
  TaskGraphBuilder builder;
  const auto task = [&](const char* name, Duration duration) {
    return builder.add_task(builder.add_operation(
        {.name = name, .kind = TaskKind::fixed, .kernels = {}, .fixed_duration = duration}));
  };
  const TaskId first = task("first", 100us);
  const TaskId small = task("small", 10us);
  const TaskId last = task("last", 90us);
  builder.add_edge(first, small);
  builder.add_edge(small, last);
  const TaskGraph found = CriticalPartition{}.apply(std::move(builder).build());
  REQUIRE(found.task_count() == 2);
  CHECK(found.operation(TaskId{0}).name == "first+small");
  CHECK(found.fixed_duration(TaskId{0}) == 110us);
  CHECK(found.operation(TaskId{1}).name == "last");
}

TEST_CASE("point-wise kernels that join never move what lies between them") {
  // x[1000] -> a -> b with 4 bytes each: apart 4 x 4000 bytes, joined x read and b's result
  // written. The product beside them makes both negligible.
  TaskGraphBuilder builder;
  const auto row = [&](const char* name) {
    return builder.add_operation({.name = name,
                                  .kind = TaskKind::pointwise,
                                  .kernels = {pointwise_kernel(1000, 1, 1.0, DataType::fp32)}});
  };
  const Kernel product = gemm_kernel(1024, 1024, 1024, DataType::fp32, false);
  const TaskId a = builder.add_task(row("a"));
  const TaskId b = builder.add_task(row("b"));
  const TaskId c = builder.add_task(
      builder.add_operation({.name = "c", .kind = TaskKind::gemm, .kernels = {product}}));
  const TensorId between = builder.add_tensor({.name = "between", .bytes = Bytes{4000}});
  const TensorId result = builder.add_tensor({.name = "result", .bytes = Bytes{4000}});
  builder.writes(a, between);
  builder.reads(b, between);
  builder.writes(b, result);
  builder.reads(c, result);
  const TaskGraph found = CriticalPartition{}.apply(std::move(builder).build());
  REQUIRE(found.task_count() == 1);  // both join the product, whose bytes they add to
  const Kernel& kernel = found.operation(TaskId{0}).kernels.front();
  CHECK(kernel.kind == TaskKind::gemm);
  CHECK(kernel.flops.count() == product.flops.count() + 2000);
  CHECK(kernel.bytes_read.count() == product.bytes_read.count() + 4000 - 4000);
  CHECK(kernel.bytes_written == product.bytes_written);
  CHECK(found.tensors().empty());
}

}  // namespace schedlab
