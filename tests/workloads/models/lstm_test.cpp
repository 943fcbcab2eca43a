// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/lstm.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

LstmSpec small(std::int64_t layers, std::int64_t steps) {
  LstmSpec spec;
  spec.layers = layers;
  spec.steps = steps;
  spec.batch = 2;
  spec.hidden = 3;
  return spec;
}

double total_flops(const TaskGraph& graph) {
  double sum = 0;
  for (const TaskId task : graph.tasks()) sum += graph.operation(task).flops().count();
  return sum;
}

std::size_t count(const TaskGraph& graph, std::string_view operation) {
  std::size_t n = 0;
  for (const TaskId task : graph.tasks()) n += graph.operation(task).name == operation ? 1U : 0U;
  return n;
}

std::vector<std::string> predecessors(const TaskGraph& graph, std::string_view name) {
  std::vector<std::string> names;
  for (const TaskId task : graph.predecessors(graph.find(name))) names.push_back(graph.name(task));
  std::sort(names.begin(), names.end());
  return names;
}

/// Longest path in tasks: every task takes 1 ps.
std::int64_t depth(const TaskGraph& graph) {
  const IdVector<TaskId, Duration> unit(graph.task_count(), Duration{1});
  return critical_path_length(graph, unit).count();
}

Bytes tensor_bytes(const TaskGraph& graph, std::string_view name) {
  for (const TensorId id : graph.tensors().ids()) {
    if (graph.tensors().name(id) == name) return graph.tensors().bytes(id);
  }
  return Bytes{-1};
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the fine backward graph of 4 layers and 5 steps has 100 tasks and 159 edges") {
  const TaskGraph graph = lstm(small(4, 5));
  CHECK(graph.task_count() == 5 * 4 * 5);
  // Inside each of 20 nodes, cell before its 4 others: 80. hidden_1 to the cell of the step before,
  // and cell to cell (dc): 4 * 4 each: 32. hidden_2 to the layer below: 3 * 5 = 15. Two chains of
  // weight tasks per layer, 4 links each: 2 * 4 * 4 = 32.
  CHECK(graph.edge_count() == 80 + 32 + 15 + 32);
  CHECK(graph.topologically_numbered());
  CHECK(graph.name(TaskId{0}) == "cell(3,4)");
}

TEST_CASE("dependencies of a gradient node are those of the partition") {
  const TaskGraph graph = lstm(small(3, 3));
  CHECK(predecessors(graph, "cell(2,2)").empty());
  CHECK(predecessors(graph, "cell(1,1)") == Names{"cell(1,2)", "hidden_1(1,2)", "hidden_2(2,1)"});
  CHECK(predecessors(graph, "hidden_1(1,1)") == Names{"cell(1,1)"});
  CHECK(predecessors(graph, "hidden_2(1,1)") == Names{"cell(1,1)"});
  CHECK(predecessors(graph, "weight_1(1,1)") == Names{"cell(1,1)", "weight_1(1,2)"});
  CHECK(predecessors(graph, "weight_2(1,1)") == Names{"cell(1,1)", "weight_2(1,2)"});
}

TEST_CASE("classes and urgency are those of the five tasks") {
  const TaskGraph graph = lstm(small(1, 1));
  CHECK(graph.operation(graph.find("cell(0,0)")).task_class == TaskClass::critical_pointwise);
  CHECK(graph.operation(graph.find("hidden_1(0,0)")).task_class == TaskClass::critical_matmul);
  CHECK(graph.operation(graph.find("weight_2(0,0)")).task_class == TaskClass::weight_gradient);
  CHECK(graph.critical(graph.find("hidden_2(0,0)")));
  CHECK_FALSE(graph.critical(graph.find("weight_1(0,0)")));
}

TEST_CASE("coarse nodes make the L x T grid: L + T - 1 deep, five launches a node") {
  LstmSpec spec = small(4, 5);
  spec.granularity = Granularity::coarse;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == 20);
  CHECK(graph.edge_count() == 4 * 4 + 3 * 5);  // along steps, along layers
  CHECK(depth(graph) == 4 + 5 - 1);
  CHECK(graph.operation(TaskId{0}).launches() == 5);
  CHECK(graph.operation(TaskId{0}).kind == TaskKind::composite);
  CHECK(predecessors(graph, "node(1,1)") == Names{"node(1,2)", "node(2,1)"});
}

TEST_CASE("FLOPs are the same at every granularity and equal the closed form") {
  LstmSpec spec = small(3, 7);
  spec.batch = 4;
  spec.hidden = 8;
  // Four GEMMs of 2 * batch * hidden * 4 hidden = 8 B H^2 each, 24 B H for the cell, and the bias
  // gradient (one addition per element of dG[B, 4H]) per node.
  const double b = 4;
  const double h = 8;
  const double expected = 3 * 7 * (32 * b * h * h + 24 * b * h + 4 * b * h);
  for (const auto granularity : {Granularity::coarse,
                                 Granularity::fine,
                                 Granularity::matmul,
                                 Granularity::data_and_weight,
                                 Granularity::kernel_and_weight}) {
    CAPTURE(static_cast<int>(granularity));
    spec.granularity = granularity;
    CHECK(total_flops(lstm(spec)) == expected);
  }
  spec.granularity = Granularity::fine;
  spec.accumulation = Accumulation::batched;
  for (const std::int64_t k : {1, 2, 3, 7, 100}) {
    CAPTURE(k);
    spec.accumulation_steps = k;
    CHECK(total_flops(lstm(spec)) == expected);
  }
}

TEST_CASE("the GEMMs of backward are twice those of forward") {
  LstmSpec spec = small(2, 3);
  double gemm[2] = {0, 0};
  for (const auto pass : {LstmPass::forward, LstmPass::backward}) {
    spec.pass = pass;
    const TaskGraph graph = lstm(spec);
    for (const TaskId task : graph.tasks()) {
      const Operation& operation = graph.operation(task);
      if (operation.kind != TaskKind::gemm) continue;
      const Kernel& kernel = operation.kernels.front();
      gemm[pass == LstmPass::backward ? 1 : 0] +=
          2.0 * static_cast<double>(kernel.m * kernel.n * kernel.k);
    }
  }
  CHECK(gemm[0] == 6 * 16.0 * 2 * 3 * 3);  // 6 nodes, two products of 8 B H^2
  CHECK(gemm[1] == 2 * gemm[0]);
}

TEST_CASE("shapes follow the width of the input of layer 0") {
  LstmSpec spec = small(2, 1);
  spec.input = 7;
  const TaskGraph graph = lstm(spec);
  const auto kernel = [&](std::string_view name) {
    return graph.operation(graph.find(name)).kernels.front();
  };
  CHECK(kernel("hidden_2(0,0)").n == 7);  // dx[batch, 7]
  CHECK(kernel("hidden_2(1,0)").n == 3);
  CHECK(kernel("hidden_1(0,0)").n == 3);
  CHECK(kernel("weight_1(0,0)").m == 7);  // dWx[7, 12]
  CHECK(kernel("weight_1(1,0)").m == 3);
  // One operation per shape: cell, hidden_1 and weight_2 are shared, hidden_2 and weight_1 are not.
  CHECK(graph.operations().size() == 3 + 2 + 2);
}

TEST_CASE("tensors have the sizes of their shapes, in the data type") {
  LstmSpec spec = small(2, 3);
  spec.input = 5;
  const TaskGraph graph = lstm(spec);
  CHECK(tensor_bytes(graph, "dG(1,2)") == Bytes{4 * 2 * 12});        // [2, 12] of 4 bytes
  CHECK(tensor_bytes(graph, "dx(0,1)") == Bytes{4 * 2 * 5});         // [2, 5]
  CHECK(tensor_bytes(graph, "dx(1,1)") == Bytes{4 * 2 * 3});         // [2, 3]
  CHECK(tensor_bytes(graph, "dh(0,-1)") == Bytes{4 * 2 * 3});        // to the initial state
  CHECK(tensor_bytes(graph, "Wx(0)") == Bytes{4 * 5 * 12});          // [5, 12]
  CHECK(tensor_bytes(graph, "dWx(0)") == Bytes{4 * 5 * 12});         // as Wx
  CHECK(tensor_bytes(graph, "dWh(1)") == Bytes{4 * (3 * 12 + 12)});  // with the bias
  CHECK(tensor_bytes(graph, "gates(1)") == Bytes{4 * 3 * 2 * 12});   // all 3 steps
  CHECK(tensor_bytes(graph, "h(1)") == Bytes{4 * (3 + 1) * 2 * 3});  // and the initial state
  spec.type = DataType::fp16;
  CHECK(tensor_bytes(lstm(spec), "dG(1,2)") == Bytes{2 * 2 * 12});
}

TEST_CASE("gate gradients live until the weight tasks have used them") {
  const TaskGraph graph = lstm(small(2, 2));
  for (const TensorId id : graph.tensors().ids()) {
    if (graph.tensors().name(id) != "dG(1,1)") continue;
    REQUIRE(graph.tensors().writers(id).size() == 1);
    CHECK(graph.name(graph.tensors().writers(id)[0]) == "cell(1,1)");
    Names readers;
    for (const TaskId task : graph.tensors().readers(id)) readers.push_back(graph.name(task));
    CHECK(readers == Names{"hidden_1(1,1)", "hidden_2(1,1)", "weight_1(1,1)", "weight_2(1,1)"});
    CHECK_FALSE(graph.tensors().persistent(id));
    return;
  }
  FAIL("dG(1,1) is missing");
}

TEST_CASE("backward has the same edges with and without tensors") {
  for (const auto granularity : {Granularity::coarse,
                                 Granularity::fine,
                                 Granularity::matmul,
                                 Granularity::data_and_weight}) {
    for (const auto mode : {Accumulation::ordered, Accumulation::batched}) {
      CAPTURE(static_cast<int>(granularity));
      CAPTURE(static_cast<int>(mode));
      LstmSpec spec = small(3, 4);
      spec.granularity = granularity;
      spec.accumulation = mode;
      spec.accumulation_steps = 3;
      const TaskGraph with = lstm(spec);
      spec.tensors = false;
      const TaskGraph without = lstm(spec);
      CHECK(without.tensors().empty());
      REQUIRE(with.task_count() == without.task_count());
      CHECK(with.edge_count() == without.edge_count());
      for (const TaskId task : with.tasks()) {
        const auto a = with.successors(task);
        const auto b = without.successors(task);
        CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
      }
    }
  }
}

TEST_CASE("batched accumulation takes k steps in one GEMM, after the last of them") {
  LstmSpec spec = small(1, 7);
  spec.accumulation = Accumulation::batched;
  spec.accumulation_steps = 3;
  const TaskGraph graph = lstm(spec);
  // Steps 6..4, 3..1 and 0 alone, named by their lowest step.
  CHECK(count(graph, "weight_1") == 3);
  CHECK(predecessors(graph, "weight_1(0,4)") == Names{"cell(0,4)", "cell(0,5)", "cell(0,6)"});
  CHECK(predecessors(graph, "weight_1(0,1)") ==
        Names{"cell(0,1)", "cell(0,2)", "cell(0,3)", "weight_1(0,4)"});
  CHECK(predecessors(graph, "weight_2(0,0)") == Names{"cell(0,0)", "weight_2(0,1)"});
  CHECK(graph.operation(graph.find("weight_1(0,4)")).kernels[0].k == 3 * 2);  // 3 steps of batch 2
  CHECK(graph.operation(graph.find("weight_1(0,0)")).kernels[0].k == 2);
}

TEST_CASE("partial accumulation spreads steps over buffers and sums them at the end") {
  LstmSpec spec = small(1, 5);
  spec.accumulation = Accumulation::partial;
  spec.partial_buffers = 2;
  const TaskGraph graph = lstm(spec);
  // Buffer 0 takes steps 4, 2, 0; buffer 1 takes 3, 1.
  CHECK(predecessors(graph, "weight_1(0,2)") == Names{"cell(0,2)", "weight_1(0,4)"});
  CHECK(predecessors(graph, "weight_1(0,3)") == Names{"cell(0,3)"});
  CHECK(predecessors(graph, "weight_1(0,1)") == Names{"cell(0,1)", "weight_1(0,3)"});
  // Buffer 1 is read, so all its writers come first; buffer 0 is added into, after the end of its
  // chain.
  CHECK(predecessors(graph, "reduce_1(0)") ==
        Names{"weight_1(0,0)", "weight_1(0,1)", "weight_1(0,3)"});
  // 36 elements in dWx[3, 12]: one addition each; two buffers read, one written.
  const Operation& reduce = graph.operation(graph.find("reduce_1(0)"));
  CHECK(reduce.flops().count() == 36);
  CHECK(reduce.bytes_read() == Bytes{2 * 36 * 4});
  CHECK(reduce.bytes_written() == Bytes{36 * 4});
  CHECK(tensor_bytes(graph, "dWx(0,1)") == Bytes{36 * 4});
}

TEST_CASE("left to the plan, tasks that add into one buffer are not ordered by the graph") {
  LstmSpec spec = small(2, 4);
  spec.buffer_order = BufferOrder::by_plan;
  for (const auto mode : {Accumulation::ordered, Accumulation::partial}) {
    spec.accumulation = mode;
    spec.partial_buffers = 2;
    const TaskGraph graph = lstm(spec);
    CHECK(predecessors(graph, "weight_1(1,1)") == Names{"cell(1,1)"});
    const std::size_t reductions = count(graph, "reduce_1");
    CHECK(reductions == (mode == Accumulation::partial ? 2U : 0U));
    if (mode == Accumulation::partial) {
      CHECK(predecessors(graph, "reduce_2(1)") ==
            Names{"weight_2(1,0)", "weight_2(1,1)", "weight_2(1,2)", "weight_2(1,3)"});
    }
  }
}

TEST_CASE("matrix products apart: the bias gradient is a task of its own") {
  LstmSpec spec = small(2, 3);
  spec.granularity = Granularity::matmul;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == 6 * 6);
  for (const TaskId task : graph.tasks()) CHECK(graph.operation(task).launches() == 1);
  CHECK(predecessors(graph, "bias(0,1)") == Names{"bias(0,2)", "cell(0,1)"});
  CHECK(graph.operation(graph.find("weight_2(0,0)")).flops().count() == 2.0 * 3 * 12 * 2);
}

TEST_CASE("data nodes and one weight GEMM per matrix and layer") {
  LstmSpec spec = small(3, 4);
  spec.granularity = Granularity::data_and_weight;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == 3 * 4 + 2 * 3);
  CHECK(graph.operation(graph.find("data_node(1,1)")).launches() == 3);
  CHECK(graph.operation(graph.find("weight_1(1)")).kernels[0].k == 4 * 2);
  CHECK(predecessors(graph, "weight_1(1)") ==
        Names{"data_node(1,0)", "data_node(1,1)", "data_node(1,2)", "data_node(1,3)"});
}

TEST_CASE("separate kernels and one weight GEMM per matrix and layer") {
  LstmSpec spec = small(3, 4);
  spec.granularity = Granularity::kernel_and_weight;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == 3 * 3 * 4 + 2 * 3);
  CHECK(graph.operation(graph.find("weight_2(1)")).kernels[0].k == 4 * 2);
  CHECK(predecessors(graph, "weight_1(1)") ==
        Names{"cell(1,0)", "cell(1,1)", "cell(1,2)", "cell(1,3)"});
  CHECK(predecessors(graph, "hidden_2(1,1)") == Names{"cell(1,1)"});
}

TEST_CASE("forward follows the layer below and the step before") {
  LstmSpec spec = small(2, 3);
  spec.pass = LstmPass::forward;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == 3 * 6);
  CHECK(predecessors(graph, "input_gemm(1,1)") == Names{"cell_forward(0,1)"});
  CHECK(predecessors(graph, "recurrent_gemm(1,1)") == Names{"cell_forward(1,0)"});
  CHECK(predecessors(graph, "cell_forward(1,1)") ==
        Names{"cell_forward(1,0)", "input_gemm(1,1)", "recurrent_gemm(1,1)"});
  CHECK(predecessors(graph, "input_gemm(0,2)").empty());
  spec.granularity = Granularity::coarse;
  CHECK(depth(lstm(spec)) == 2 + 3 - 1);
}

TEST_CASE("one input product stands for those of several steps and waits for all of them") {
  LstmSpec spec = small(2, 5);
  spec.pass = LstmPass::forward;
  const TaskGraph single = lstm(spec);
  for (const Granularity granularity : {Granularity::fine, Granularity::data_and_weight}) {
    spec.granularity = granularity;
    spec.input_steps = 2;
    const TaskGraph graph = lstm(spec);
    const bool fine = granularity == Granularity::fine;
    CHECK(graph.task_count() == 2 * ((fine ? 2U : 1U) * 5 + 3));  // 3 groups of 2, 2 and 1 steps
    CHECK(total_flops(graph) == total_flops(single));
    const std::string cell = fine ? "cell_forward" : "node_forward";
    CHECK(predecessors(graph, "input_gemm(1,2)") == Names{cell + "(0,2)", cell + "(0,3)"});
    CHECK(predecessors(graph, "input_gemm(1,4)") == Names{cell + "(0,4)"});
    spec.input_steps = 0;
    CHECK(lstm(spec).task_count() == 2 * ((fine ? 2U : 1U) * 5 + 1));
  }
  spec.pass = LstmPass::training;
  spec.recompute = Recompute::data_drop;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(lstm(spec)), doctest::Contains("input_steps"), InfeasibleError);
}

TEST_CASE("hidden_2_steps: one hidden_2 for several steps, wherever it is a task") {
  LstmSpec spec = small(2, 5);
  spec.hidden_2_steps = 2;
  for (const Granularity granularity :
       {Granularity::fine, Granularity::matmul, Granularity::kernel_and_weight}) {
    spec.granularity = granularity;
    const TaskGraph graph = lstm(spec);
    CHECK(graph.topologically_numbered());
    CHECK(predecessors(graph, "hidden_2(1,3)") == Names{"cell(1,3)", "cell(1,4)"});
    CHECK(predecessors(graph, "cell(0,4)") == Names{"hidden_2(1,3)"});
    LstmSpec single = spec;
    single.hidden_2_steps = 1;
    CHECK(lstm(single).task_count() == graph.task_count() + 2 * 2);  // 3 products for 5 steps
    CHECK(total_flops(lstm(single)) == total_flops(graph));
  }
  // Nodes are not cut.
  spec.granularity = Granularity::coarse;
  CHECK(lstm(spec).task_count() == 2 * 5);
  spec.granularity = Granularity::fine;
  spec.pass = LstmPass::training;
  spec.recompute = Recompute::data_drop;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(lstm(spec)), doctest::Contains("hidden_2_steps"), InfeasibleError);
}

TEST_CASE("hidden_1_slices: products side by side, whose results the next cell sums") {
  LstmSpec spec = small(2, 5);
  const TaskGraph whole = lstm(spec);
  spec.hidden_1_slices = 4;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == whole.task_count());
  const auto kernel_of = [](const TaskGraph& of, std::string_view name) {
    for (const TaskId task : of.tasks()) {
      if (of.name(task) == name) return of.operation(task).kernels.front();
    }
    return Kernel{};
  };
  const Kernel one = kernel_of(whole, "hidden_1(1,3)");
  const Kernel slices = kernel_of(graph, "hidden_1(1,3)");
  CHECK(slices.k * 4 == one.k);
  CHECK(slices.flops == one.flops);
  CHECK(slices.bytes_read == one.bytes_read);
  CHECK(slices.bytes_written == one.bytes_written * 4);
  // One element more for each further slice; of the last step dh is given.
  const Bytes elements = one.bytes_written;
  CHECK(kernel_of(graph, "cell(1,3)").bytes_read ==
        kernel_of(whole, "cell(1,3)").bytes_read + elements * 3);
  CHECK(kernel_of(graph, "cell(1,4)") == kernel_of(whole, "cell(1,4)"));
  // What the graph returns is in one piece.
  CHECK(kernel_of(graph, "hidden_1(1,0)") == kernel_of(whole, "hidden_1(1,0)"));
  spec.hidden_1_slices = 7;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(lstm(spec)), doctest::Contains("hidden_1_slices"), InfeasibleError);
}

TEST_CASE("weight_units and last_accumulation_steps: grids, and shorter sums in the lowest layer") {
  LstmSpec spec = small(2, 6);
  spec.accumulation = Accumulation::batched;
  spec.accumulation_steps = 6;
  spec.last_accumulation_steps = 2;
  spec.weight_units = 3;
  const TaskGraph graph = lstm(spec);
  std::map<std::int16_t, int> products;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    const bool weight = operation.name == "weight_1" || operation.name == "weight_2";
    CHECK(operation.kernels.front().grid.blocks == (weight ? 3 : 0));
    if (weight) ++products[graph.tags(task).layer];
  }
  CHECK(products == std::map<std::int16_t, int>{{0, 2 * 3}, {1, 2 * 1}});
}

TEST_CASE("one product for the layer below stands for those of several steps, between kernels") {
  LstmSpec spec = small(2, 5);
  spec.granularity = Granularity::kernel_and_weight;
  const TaskGraph single = lstm(spec);
  spec.input_steps = 2;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.topologically_numbered());
  // Of each layer 5 cells, 5 hidden_1, hidden_2 of 2, 2 and 1 steps, two weight products.
  CHECK(graph.task_count() == 2 * (5 + 5 + 3 + 2));
  CHECK(total_flops(graph) == total_flops(single));
  CHECK(predecessors(graph, "hidden_2(1,3)") == Names{"cell(1,3)", "cell(1,4)"});
  CHECK(predecessors(graph, "hidden_2(1,0)") == Names{"cell(1,0)"});
  // Both steps of the layer below wait for the one product.
  CHECK(predecessors(graph, "cell(0,4)") == Names{"hidden_2(1,3)"});
  const Names before = predecessors(graph, "cell(0,3)");
  CHECK(std::find(before.begin(), before.end(), "hidden_2(1,3)") != before.end());
  spec.input_steps = 0;
  CHECK(lstm(spec).task_count() == 2 * (5 + 5 + 1 + 2));
  // At other granularities the backward pass is as ever.
  spec.granularity = Granularity::fine;
  CHECK(lstm(spec).task_count() == 2 * 5 * 5);
  // A training step: the update of a layer waits for the last product that reads its weights.
  spec.granularity = Granularity::kernel_and_weight;
  spec.pass = LstmPass::training;
  const TaskGraph training = lstm(spec);
  CHECK(training.topologically_numbered());
  const Names readers = predecessors(training, "update(1)");
  CHECK(std::find(readers.begin(), readers.end(), "hidden_2(1,0)") != readers.end());
}

TEST_CASE("training copies in, runs forward, loss and backward, updates and copies out") {
  LstmSpec spec = small(2, 3);
  spec.pass = LstmPass::training;
  const TaskGraph graph = lstm(spec);
  CHECK(graph.task_count() == 1 + 3 * 6 + 1 + 5 * 6 + 2 + 1);
  CHECK(graph.topologically_numbered());
  CHECK(graph.name(TaskId{0}) == "transfer_in#0");
  const TaskId loss{1 + 18};
  CHECK(graph.operation(loss).name == "loss");
  CHECK(graph.operation(graph.find("update(1)")).task_class == TaskClass::update);
  // The update of a layer waits for its weight gradients, and for every reader of the weights it
  // overwrites.
  const Names before = predecessors(graph, "update(1)");
  for (const char* name : {"weight_1(1,0)",
                           "weight_2(1,0)",
                           "hidden_1(1,0)",
                           "hidden_2(1,0)",
                           "hidden_2(1,1)",
                           "hidden_2(1,2)"}) {
    CAPTURE(name);
    CHECK(std::find(before.begin(), before.end(), name) != before.end());
  }
  // In series: transfer_in, then forward. Forward chain: input_gemm and cell_forward of (0,0), then
  // at each of the 2 + 3 - 2 diagonal steps a GEMM and a cell: 2 * 4. Loss. Backward the same:
  // cell, and 3 times GEMM and cell; then the longest tail: weight_1(0,0), update(0). transfer_out
  // hangs off the loss.
  CHECK(depth(graph) == 1 + 2 * 4 + 1 + (1 + 2 * 3) + 1 + 1);
}

TEST_CASE("activations of a training step live from forward to backward") {
  LstmSpec spec = small(2, 3);
  spec.pass = LstmPass::training;
  const TaskGraph graph = lstm(spec);
  bool seen = false;
  for (const TensorId id : graph.tensors().ids()) {
    if (graph.tensors().name(id) != "h(0,1)") continue;
    seen = true;
    Names readers;
    for (const TaskId task : graph.tensors().readers(id)) readers.push_back(graph.name(task));
    std::sort(readers.begin(), readers.end());
    CHECK(readers ==
          Names{"input_gemm(1,1)", "recurrent_gemm(0,2)", "weight_1(1,1)", "weight_2(0,2)"});
    CHECK_FALSE(graph.tensors().persistent(id));
  }
  CHECK(seen);
}

TEST_CASE("the tensors of a training step add no depth to its dependencies") {
  for (const auto granularity : {Granularity::coarse, Granularity::fine}) {
    LstmSpec spec = small(3, 4);
    spec.pass = LstmPass::training;
    spec.granularity = granularity;
    const TaskGraph with = lstm(spec);
    spec.tensors = false;
    const TaskGraph without = lstm(spec);
    CHECK(levels(with) == levels(without));
  }
}

TEST_CASE("impossible sizes are refused") {
  LstmSpec spec = small(0, 5);
  CHECK_THROWS_AS((void)lstm(spec), ContractViolation);
  spec.layers = 1000;
  spec.steps = 1'000'000'000;
  CHECK_THROWS_AS((void)lstm(spec), InfeasibleError);
  spec = small(1, 1);
  spec.batch = 1LL << 40;
  spec.hidden = 1LL << 40;
  CHECK_THROWS_AS((void)lstm(spec), InfeasibleError);
}
