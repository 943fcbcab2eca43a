// SPDX-License-Identifier: Apache-2.0
// Bidirectional layers and GRU cells; what holds for one direction of LSTM is in lstm_test.cpp.
#include "workloads/models/recurrent/recurrent.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"
#include "workloads/buckets/recurrent_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

using namespace schedlab;

namespace {

using Names = std::vector<std::string>;

/// Parameters of all layers; cells have as many biases as are mathematically distinct (cuDNN and
/// PyTorch keep two per gate: `gates` * hidden more per chain, but for a GRU only 2 * hidden).
std::int64_t parameter_count(const RecurrentSpec& spec) {
  const std::int64_t gates = spec.cell == RecurrentCell::lstm ? 4 : 3;
  // A GRU that resets after the product has a bias on either side of the reset.
  const std::int64_t biases = spec.cell == RecurrentCell::gru_reset_before ? 3 : 4;
  const std::int64_t output = spec.projection > 0 ? spec.projection : spec.hidden;
  std::int64_t width = spec.input == 0 ? spec.hidden : spec.input;
  std::int64_t sum = 0;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const bool both = spec.bidirectional == Bidirectional::all ||
                      (spec.bidirectional == Bidirectional::first && layer == 0);
    const std::int64_t directions = both ? 2 : 1;
    sum += directions * spec.hidden * (gates * (width + output) + biases + spec.projection);
    width = directions * output;
  }
  return sum;
}

constexpr std::array<RecurrentCell, 3> cells{
    RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before};
constexpr std::array<Bidirectional, 3> directions{
    Bidirectional::none, Bidirectional::first, Bidirectional::all};
constexpr std::array<Granularity, 5> granularities{Granularity::coarse,
                                                   Granularity::fine,
                                                   Granularity::matmul,
                                                   Granularity::data_and_weight,
                                                   Granularity::kernel_and_weight};
constexpr std::array<RecurrentPass, 3> passes{
    RecurrentPass::forward, RecurrentPass::backward, RecurrentPass::training};

RecurrentSpec small(RecurrentCell cell, Bidirectional both) {
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 4;
  spec.batch = 2;
  spec.hidden = 3;
  spec.input = 5;
  spec.cell = cell;
  spec.bidirectional = both;
  return spec;
}

/// Every cut of every cell and direction.
void for_each_spec(const std::function<void(const RecurrentSpec&)>& visit) {
  for (const RecurrentCell cell : cells) {
    for (const Bidirectional both : directions) {
      for (const Granularity granularity : granularities) {
        for (const auto mode :
             {Accumulation::ordered, Accumulation::partial, Accumulation::batched}) {
          RecurrentSpec spec = small(cell, both);
          spec.granularity = granularity;
          spec.accumulation = mode;
          spec.accumulation_steps = 3;
          CAPTURE(static_cast<int>(cell));
          CAPTURE(static_cast<int>(both));
          CAPTURE(static_cast<int>(granularity));
          CAPTURE(static_cast<int>(mode));
          visit(spec);
        }
      }
    }
  }
}

/// Width of the input and number of upstream gradients of each chain, from the bottom.
struct ChainShape {
  std::int64_t width;
  std::int64_t upstream;
};

std::int64_t directions_of(const RecurrentSpec& spec, std::int64_t layer) {
  return spec.bidirectional == Bidirectional::all ||
                 (spec.bidirectional == Bidirectional::first && layer == 0)
             ? 2
             : 1;
}

std::vector<ChainShape> chain_shapes(const RecurrentSpec& spec) {
  std::vector<ChainShape> chains;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::int64_t width =
        layer == 0 ? spec.input : directions_of(spec, layer - 1) * spec.hidden;
    const std::int64_t upstream = layer + 1 < spec.layers ? directions_of(spec, layer + 1) : 1;
    for (std::int64_t d = 0; d < directions_of(spec, layer); ++d) {
      chains.push_back({width, upstream});
    }
  }
  return chains;
}

struct CellWork {
  double gates;
  double forward;   // point-wise FLOPs per hidden element
  double backward;  // without upstream gradients
  double biases;
};

CellWork work_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::lstm:
      return {.gates = 4, .forward = 17, .backward = 23, .biases = 4};
    case RecurrentCell::gru:
      return {.gates = 3, .forward = 14, .backward = 17, .biases = 4};
    default:
      return {.gates = 3, .forward = 7 + 6, .backward = 12 + 6, .biases = 3};
  }
}

double total_flops(const TaskGraph& graph, bool only_gemm = false) {
  double sum = 0;
  for (const TaskId task : graph.tasks()) {
    for (const Kernel& kernel : graph.operation(task).kernels) {
      if (!only_gemm) {
        sum += kernel.flops.count();
      } else if (kernel.kind == TaskKind::gemm) {
        sum += 2.0 * static_cast<double>(kernel.m * kernel.n * kernel.k);
      }
    }
  }
  return sum;
}

Names predecessors(const TaskGraph& graph, std::string_view name) {
  const TaskId found = graph.find(name);
  REQUIRE(found.valid());
  Names names;
  for (const TaskId task : graph.predecessors(found)) names.push_back(graph.name(task));
  std::sort(names.begin(), names.end());
  return names;
}

std::int64_t depth(const TaskGraph& graph) {
  const IdVector<TaskId, Duration> unit(graph.task_count(), Duration{1});
  return critical_path_length(graph, unit).count();
}

}  // namespace

TEST_CASE("FLOPs equal the closed form for every cell, direction and cut") {
  for_each_spec([](const RecurrentSpec& given) {
    RecurrentSpec spec = given;
    const CellWork work = work_of(spec.cell);
    const auto b = static_cast<double>(spec.batch);
    const auto h = static_cast<double>(spec.hidden);
    double forward_gemm = 0;
    double forward = 0;
    double backward = 0;
    for (const ChainShape& chain : chain_shapes(spec)) {
      const auto steps = static_cast<double>(spec.steps);
      // x * Wx and h * Wh, each 2 FLOP per element of batch, input and gates.
      const double gemm = 2 * b * (static_cast<double>(chain.width) + h) * work.gates * h;
      forward_gemm += steps * gemm;
      forward += steps * (gemm + work.forward * b * h);
      // Twice the products; each upstream gradient is one more addition; bias gradients.
      backward +=
          steps * (2 * gemm + (work.backward + static_cast<double>(chain.upstream)) * b * h +
                   work.biases * b * h);
    }
    spec.pass = RecurrentPass::forward;
    CHECK(total_flops(recurrent(spec)) == forward);
    CHECK(total_flops(recurrent(spec), true) == forward_gemm);
    spec.pass = RecurrentPass::backward;
    const TaskGraph graph = recurrent(spec);
    CHECK(total_flops(graph, true) == 2 * forward_gemm);
    double reductions = 0;
    for (const TaskId task : graph.tasks()) {
      if (graph.operation(task).name.rfind("reduce", 0) == 0) {
        reductions += graph.operation(task).flops().count();
      }
    }
    CHECK(total_flops(graph) - reductions == backward);
    // Reducing p = 2 buffers costs one addition per parameter.
    const bool reduces =
        spec.accumulation == Accumulation::partial &&
        (spec.granularity == Granularity::fine || spec.granularity == Granularity::matmul);
    CHECK(reductions == (reduces ? static_cast<double>(parameter_count(spec)) : 0.0));
  });
}

TEST_CASE("ids are a topological order and every tensor is used as its kind allows") {
  for_each_spec([](const RecurrentSpec& given) {
    for (const RecurrentPass pass : passes) {
      CAPTURE(static_cast<int>(pass));
      RecurrentSpec spec = given;
      spec.pass = pass;
      const TaskGraph graph = recurrent(spec);
      CHECK(graph.topologically_numbered());
      const TensorTable& tensors = graph.tensors();
      for (const TensorId id : tensors.ids()) {
        CAPTURE(tensors.name(id));
        CHECK(tensors.bytes(id) > Bytes{0});
        // What does not outlive the run is made in it; what is made is used or returned.
        if (!tensors.persistent(id)) CHECK_FALSE(tensors.writers(id).empty());
        CHECK_FALSE(tensors.writers(id).size() + tensors.readers(id).size() == 0);
        // Gate gradients of a whole node never leave it.
        const bool scratch = spec.granularity == Granularity::coarse &&
                             tensors.name(id).rfind("dG", 0) == 0 &&
                             tensors.writers(id).size() == 1;
        if (!tensors.persistent(id)) CHECK(tensors.readers(id).empty() == scratch);
        if (tensors.writers(id).size() > 1) CHECK(tensors.accumulate(id));
      }
      // Only the update changes parameters, after every one that reads them.
      if (pass != RecurrentPass::training) continue;
      for (const TensorId id : tensors.ids()) {
        if (tensors.name(id).rfind("Wx(", 0) != 0) continue;
        const std::string chain = tensors.name(id).substr(2);
        const TaskId update = graph.find("update" + chain);
        REQUIRE(update.valid());
        const IdVector<TaskId, std::uint32_t> level = levels(graph);
        for (const TaskId reader : tensors.readers(id)) CHECK(level[reader] < level[update]);
      }
    }
  });
}

TEST_CASE("tensors add no dependencies to a backward pass, and no depth to a training step") {
  for_each_spec([](const RecurrentSpec& given) {
    RecurrentSpec spec = given;
    const TaskGraph with = recurrent(spec);
    spec.tensors = false;
    const TaskGraph without = recurrent(spec);
    REQUIRE(with.task_count() == without.task_count());
    // With tensors a reduction follows every writer of a buffer it reads, not only the last.
    const bool reduces = spec.accumulation == Accumulation::partial;
    CHECK(levels(with) == levels(without));
    for (const TaskId task : with.tasks()) {
      if (reduces) break;
      const auto a = with.successors(task);
      const auto b = without.successors(task);
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
    spec.pass = RecurrentPass::training;
    const TaskGraph lean = recurrent(spec);
    spec.tensors = true;
    CHECK(levels(recurrent(spec)) == levels(lean));
  });
}

TEST_CASE("the two directions of a layer run against each other and meet in the layer above") {
  RecurrentSpec spec = small(RecurrentCell::lstm, Bidirectional::all);
  spec.layers = 2;
  spec.steps = 3;
  spec.pass = RecurrentPass::forward;
  const TaskGraph forward = recurrent(spec);
  // Chains: 0 and 1 are the directions of layer 0, 2 and 3 those of layer 1.
  CHECK(predecessors(forward, "recurrent_gemm(0,1)") == Names{"cell_forward(0,0)"});
  CHECK(predecessors(forward, "recurrent_gemm(1,1)") == Names{"cell_forward(1,2)"});
  CHECK(predecessors(forward, "recurrent_gemm(1,2)").empty());
  CHECK(predecessors(forward, "input_gemm(3,1)") ==
        Names{"cell_forward(0,1)", "cell_forward(1,1)"});
  CHECK(forward.operation(forward.find("input_gemm(2,0)")).kernels[0].k == 2 * 3);

  spec.pass = RecurrentPass::backward;
  const TaskGraph backward = recurrent(spec);
  CHECK(predecessors(backward, "cell(0,1)") ==
        Names{"cell(0,2)", "hidden_1(0,2)", "hidden_2(2,1)", "hidden_2(3,1)"});
  CHECK(predecessors(backward, "cell(1,1)") ==
        Names{"cell(1,0)", "hidden_1(1,0)", "hidden_2(2,1)", "hidden_2(3,1)"});
  CHECK(predecessors(backward, "cell(3,0)").empty());
  CHECK(predecessors(backward, "weight_2(3,1)") == Names{"cell(3,1)", "weight_2(3,0)"});
  CHECK(backward.operation(backward.find("hidden_2(2,0)")).kernels[0].n == 2 * 3);
  // Per node 4 edges from its cell; along each of 4 chains 2 * 2 (dh, dc) and 2 * 2 of weights;
  // from each upper to each lower chain one per step.
  CHECK(backward.edge_count() == 4 * (3 * 4) + 4 * (2 * 2) + 4 * (2 * 2) + 2 * 2 * 3);
}

TEST_CASE("no wavefront passes a bidirectional layer: L layers of T nodes are L * T deep") {
  RecurrentSpec spec = small(RecurrentCell::lstm, Bidirectional::all);
  spec.granularity = Granularity::coarse;
  for (const RecurrentPass pass : {RecurrentPass::forward, RecurrentPass::backward}) {
    spec.pass = pass;
    CHECK(depth(recurrent(spec)) == 3 * 4);
    spec.bidirectional = Bidirectional::first;
    CHECK(depth(recurrent(spec)) == 4 + (2 + 4 - 1));
    spec.bidirectional = Bidirectional::none;
    CHECK(depth(recurrent(spec)) == 3 + 4 - 1);
    spec.bidirectional = Bidirectional::all;
  }
  CHECK(chain_count(spec) == 6);
}

TEST_CASE("one bidirectional layer is two independent chains until the loss") {
  RecurrentSpec spec = small(RecurrentCell::gru, Bidirectional::first);
  spec.layers = 1;
  const TaskGraph graph = recurrent(spec);
  RecurrentSpec single = spec;
  single.bidirectional = Bidirectional::none;
  CHECK(graph.task_count() == 2 * recurrent(single).task_count());
  CHECK(graph.edge_count() == 2 * recurrent(single).edge_count());
  spec.pass = RecurrentPass::training;
  const TaskGraph training = recurrent(spec);
  const Names before = predecessors(training, training.name(TaskId{1 + 3 * 8}));
  // The last nodes of both directions; earlier ones reach the loss through their outputs.
  CHECK(std::find(before.begin(), before.end(), "cell_forward(0,3)") != before.end());
  CHECK(std::find(before.begin(), before.end(), "cell_forward(1,0)") != before.end());
  CHECK(before.size() == 8);
}

TEST_CASE("a GRU has three gates, and its direct path in place of a cell state") {
  RecurrentSpec spec = small(RecurrentCell::gru, Bidirectional::none);
  spec.layers = 1;
  const TaskGraph graph = recurrent(spec);
  CHECK(graph.task_count() == 5 * 4);
  CHECK(graph.operation(graph.find("hidden_1(0,1)")).kernels[0].k == 3 * 3);
  CHECK(graph.operation(graph.find("weight_1(0,1)")).kernels[0].n == 3 * 3);
  CHECK(predecessors(graph, "cell(0,1)") == Names{"cell(0,2)", "hidden_1(0,2)"});
  std::int64_t saved = 0;
  for (const TensorId id : graph.tensors().ids()) {
    const std::string name = graph.tensors().name(id);
    CHECK(name.rfind("c(", 0) != 0);
    if (name == "gates(0)") saved = graph.tensors().bytes(id).count();
    if (name == "dG(0,1)") CHECK(graph.tensors().bytes(id) == Bytes{4 * 4 * 2 * 3});
  }
  CHECK(saved == 4 * 4 * (4 * 2 * 3));  // r, z, n and the product under the reset gate; 4 steps
}

TEST_CASE("a reset gate before the product splits it: the candidate follows the gates") {
  RecurrentSpec spec = small(RecurrentCell::gru_reset_before, Bidirectional::none);
  spec.layers = 2;
  const TaskGraph graph = recurrent(spec);
  CHECK(graph.task_count() == 8 * 4 * 2);
  CHECK(predecessors(graph, "candidate_cell(0,1)") ==
        Names{"cell(0,2)", "hidden_1(0,2)", "hidden_2(1,1)"});
  CHECK(predecessors(graph, "candidate_hidden(0,1)") == Names{"candidate_cell(0,1)"});
  CHECK(predecessors(graph, "cell(0,1)") == Names{"candidate_cell(0,1)", "candidate_hidden(0,1)"});
  CHECK(predecessors(graph, "weight_3(0,1)") == Names{"candidate_cell(0,1)", "weight_3(0,2)"});
  CHECK(graph.operation(graph.find("hidden_1(0,1)")).kernels[0].k == 2 * 3);
  spec.pass = RecurrentPass::forward;
  const TaskGraph forward = recurrent(spec);
  CHECK(predecessors(forward, "candidate_gemm(1,1)") == Names{"gates_forward(1,1)"});
  CHECK(predecessors(forward, "cell_forward(1,1)") ==
        Names{"candidate_gemm(1,1)", "cell_forward(1,0)", "gates_forward(1,1)", "input_gemm(1,1)"});
}

TEST_CASE("a projection narrows what the next step and the next layer read") {
  RecurrentSpec spec = small(RecurrentCell::lstm, Bidirectional::none);
  spec.layers = 2;
  spec.hidden = 6;
  spec.projection = 2;
  const TaskGraph graph = recurrent(spec);
  CHECK(graph.task_count() == 8 * 4 * 2);
  CHECK(predecessors(graph, "projection_sum(0,1)") == Names{"hidden_1(0,2)", "hidden_2(1,1)"});
  CHECK(predecessors(graph, "projection_hidden(0,1)") == Names{"projection_sum(0,1)"});
  CHECK(predecessors(graph, "cell(0,1)") == Names{"cell(0,2)", "projection_hidden(0,1)"});
  spec.tensors = false;
  CHECK(recurrent(spec).edge_count() == graph.edge_count());
  spec.tensors = true;
  CHECK(predecessors(graph, "weight_3(0,1)") == Names{"projection_sum(0,1)", "weight_3(0,2)"});
  CHECK(graph.operation(graph.find("hidden_1(0,1)")).kernels[0].n == 2);
  CHECK(graph.operation(graph.find("hidden_2(1,1)")).kernels[0].n == 2);
  CHECK(graph.operation(graph.find("weight_3(0,1)")).kernels[0].m == 6);
  spec.pass = RecurrentPass::forward;
  const TaskGraph forward = recurrent(spec);
  CHECK(predecessors(forward, "projection_gemm(1,1)") == Names{"cell_forward(1,1)"});
  CHECK(predecessors(forward, "recurrent_gemm(1,1)") == Names{"projection_gemm(1,0)"});
  CHECK(predecessors(forward, "input_gemm(1,1)") == Names{"projection_gemm(0,1)"});
}

TEST_CASE("work and parameters of system S2's network are those of its published sizes") {
  // 3 layers of 2048 units, projected to 512, input 40. A layer has 4 * 2048 (in + 512 + 1) + 2048
  // * 512 parameters.
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 2;
  spec.batch = 8;
  spec.hidden = 2048;
  spec.projection = 512;
  spec.input = 40;
  const std::int64_t gates = 4 * 2048;
  const std::int64_t expected =
      gates * (40 + 512 + 1) + 2 * gates * (512 + 512 + 1) + 3 * 2048 * 512;
  CHECK(parameter_count(spec) == expected);
  CHECK(parameter_count(RecurrentNetwork{
            .layers = 3, .hidden = 2048, .projection = 512, .input = 40}) == expected);
  // Each weight that is no bias is a product and a sum for each row and step.
  const std::int64_t weights = expected - 3 * gates;
  spec.pass = RecurrentPass::forward;
  CHECK(total_flops(recurrent(spec), true) == 2.0 * 8 * 2 * static_cast<double>(weights));
  spec.pass = RecurrentPass::backward;
  CHECK(total_flops(recurrent(spec), true) == 4.0 * 8 * 2 * static_cast<double>(weights));
}

TEST_CASE("projections that cannot be are refused with what to do") {
  RecurrentSpec spec = small(RecurrentCell::gru, Bidirectional::none);
  spec.projection = 2;
  CHECK_THROWS_WITH_AS(
      (void)recurrent(spec), doctest::Contains("set \"projection\": 0"), InfeasibleError);
  spec.cell = RecurrentCell::lstm;
  spec.projection = spec.hidden + 1;
  CHECK_THROWS_WITH_AS(
      (void)recurrent(spec), doctest::Contains("at most as wide"), InfeasibleError);
}

TEST_CASE("parameters are those of the weight tensors and of published models") {
  for_each_spec([](const RecurrentSpec& spec) {
    const TaskGraph graph = recurrent(spec);
    std::int64_t elements = 0;
    for (const TensorId id : graph.tensors().ids()) {
      const std::string name = graph.tensors().name(id);
      if (name.rfind("Wx(", 0) == 0 || name.rfind("Wh(", 0) == 0) {
        elements += graph.tensors().bytes(id).count() / 4;
      }
    }
    CHECK(elements == parameter_count(spec));
  });
  // Two bidirectional layers of 256 on vectors of 100, in a model of PyTorch with 25,002 vectors
  // and one output of 512 + 1 weights: 4,810,857 parameters with LSTM, 4,233,321 with GRU. PyTorch
  // has a second bias per gate: 4 * 256 per LSTM chain; of a GRU only r and z have one too many.
  RecurrentSpec spec{.layers = 2, .steps = 1, .batch = 1, .hidden = 256, .input = 100};
  spec.bidirectional = Bidirectional::all;
  const std::int64_t rest = 25'002 * 100 + 513;
  CHECK(parameter_count(spec) + 4 * (4 * 256) + rest == 4'810'857);
  spec.cell = RecurrentCell::gru;
  CHECK(parameter_count(spec) + 4 * (2 * 256) + rest == 4'233'321);
}

TEST_CASE("Adam costs seven times the arithmetic of gradient descent and keeps two moments") {
  RecurrentSpec spec = small(RecurrentCell::lstm, Bidirectional::first);
  spec.pass = RecurrentPass::training;
  const auto sum = [](const TaskGraph& graph, auto value) {
    double total = 0;
    for (const TaskId task : graph.tasks()) {
      if (graph.operation(task).task_class == TaskClass::update) {
        total += value(graph.operation(task));
      }
    }
    return total;
  };
  const auto flops = [](const Operation& o) { return o.flops().count(); };
  const auto bytes = [](const Operation& o) {
    return static_cast<double>((o.bytes_read() + o.bytes_written()).count());
  };
  const auto parameters = static_cast<double>(parameter_count(spec));
  const TaskGraph sgd = recurrent(spec);
  CHECK(sum(sgd, flops) == 2 * parameters);
  CHECK(sum(sgd, bytes) == 3 * 4 * parameters);
  spec.optimizer = Optimizer::adam;
  const TaskGraph adam = recurrent(spec);
  CHECK(sum(adam, flops) == 14 * parameters);
  CHECK(sum(adam, bytes) == 7 * 4 * parameters);
  CHECK(adam.edge_count() == sgd.edge_count());
}

TEST_CASE("two directions count twice where layers are limited by their tag") {
  RecurrentSpec spec = small(RecurrentCell::lstm, Bidirectional::all);
  spec.layers = 20'000;
  CHECK_THROWS_AS((void)recurrent(spec), InfeasibleError);
}
