// SPDX-License-Identifier: Apache-2.0
// Products of the backward pass that are cut otherwise; that they compute the same is in
// tests/real_exec/recurrent.
#include "sim/base/error.hpp"
#include "sim/graph/product_layout.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

using namespace schedlab;

namespace {

using Names = std::vector<std::string>;

RecurrentSpec two_layers(std::int64_t steps) {
  RecurrentSpec spec;
  spec.layers = 2;
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

Names predecessors(const TaskGraph& graph, std::string_view name) {
  Names names;
  for (const TaskId task : graph.predecessors(graph.find(name))) names.push_back(graph.name(task));
  std::sort(names.begin(), names.end());
  return names;
}

const Kernel& kernel_of(const TaskGraph& graph, std::string_view name) {
  return graph.operation(graph.find(name)).kernels.front();
}

}  // namespace

TEST_CASE("hidden_2_steps: one hidden_2 for several steps, wherever it is a task") {
  RecurrentSpec spec = two_layers(5);
  spec.hidden_2_steps = 2;
  for (const Granularity granularity :
       {Granularity::fine, Granularity::matmul, Granularity::kernel_and_weight}) {
    spec.granularity = granularity;
    const TaskGraph graph = recurrent(spec);
    CHECK(graph.topologically_numbered());
    CHECK(predecessors(graph, "hidden_2(1,3)") == Names{"cell(1,3)", "cell(1,4)"});
    CHECK(predecessors(graph, "cell(0,4)") == Names{"hidden_2(1,3)"});
    RecurrentSpec single = spec;
    single.hidden_2_steps = 1;
    CHECK(recurrent(single).task_count() == graph.task_count() + 2 * 2);  // 3 products for 5 steps
    CHECK(total_flops(recurrent(single)) == total_flops(graph));
  }
  // Nodes are not cut.
  spec.granularity = Granularity::coarse;
  CHECK(recurrent(spec).task_count() == 2 * 5);
  spec.granularity = Granularity::fine;
  spec.pass = RecurrentPass::training;
  spec.recompute = Recompute::data_drop;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(recurrent(spec)), doctest::Contains("hidden_2_steps"), InfeasibleError);
}

TEST_CASE("hidden_1_slices: products side by side, whose results the next cell sums") {
  RecurrentSpec spec = two_layers(5);
  const TaskGraph whole = recurrent(spec);
  spec.hidden_1_slices = 4;
  const TaskGraph graph = recurrent(spec);
  CHECK(graph.task_count() == whole.task_count());
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
      static_cast<void>(recurrent(spec)), doctest::Contains("hidden_1_slices"), InfeasibleError);
}

TEST_CASE("weight_units and last_accumulation_steps: grids, and shorter sums in the lowest layer") {
  RecurrentSpec spec = two_layers(6);
  spec.accumulation = Accumulation::batched;
  spec.accumulation_steps = 6;
  spec.last_accumulation_steps = 2;
  spec.weight_units = 3;
  const TaskGraph graph = recurrent(spec);
  std::map<std::int16_t, int> products;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    const bool weight = operation.name == "weight_1" || operation.name == "weight_2";
    CHECK(operation.kernels.front().grid.blocks == (weight ? 3 : 0));
    if (weight) ++products[graph.tags(task).layer];
  }
  CHECK(products == std::map<std::int16_t, int>{{0, 2 * 3}, {1, 2 * 1}});
}

TEST_CASE("k_major: copies between the cells of some steps and the two products that read them") {
  RecurrentSpec spec = two_layers(5);
  spec.accumulation = Accumulation::batched;
  spec.accumulation_steps = 2;
  const TaskGraph plain = recurrent(spec);
  spec.k_major = true;
  const TaskGraph graph = recurrent(spec);
  CHECK(graph.topologically_numbered());
  CHECK(graph.task_count() == plain.task_count() + 2 * 3);  // 3 groups of steps in each layer
  CHECK(total_flops(graph) == total_flops(plain));          // a copy has none
  CHECK(predecessors(graph, "transpose(1,3)") == Names{"cell(1,3)", "cell(1,4)"});
  CHECK(predecessors(graph, "weight_1_k_major(1,3)") == Names{"transpose(1,3)"});
  CHECK(predecessors(graph, "weight_2_k_major(1,1)") ==
        Names{"cell(1,1)", "cell(1,2)", "transpose(1,1)", "weight_2_k_major(1,3)"});  // column sums
  // x, h and dG of 2 steps of 2 rows, of 3, 3 and 4 * 3 columns, read and written once.
  Bytes copied{0};
  const Operation& transpose = graph.operation(graph.find("transpose(1,3)"));
  REQUIRE(transpose.kernels.size() == 3);
  for (const Kernel& kernel : transpose.kernels) copied += kernel.bytes_read;
  CHECK(copied == Bytes{2 * 2 * (3 + 3 + 12) * 4});
  CHECK(transpose.bytes_written() == copied);
  // The products are the same ones, of factors that lie otherwise.
  const Operation& product = graph.operation(graph.find("weight_1_k_major(1,3)"));
  CHECK(product.kernels.front() == kernel_of(plain, "weight_1(1,3)"));
  CHECK(product_layout("weight_1", product.kernels.front()) == ProductLayout::tn);
  CHECK(product_layout(product.name, product.kernels.front()) == ProductLayout::nt);
}

TEST_CASE("k_major is refused where a factor has no copy of its own") {
  const auto refused = [](const char* option, const auto& change) {
    RecurrentSpec spec = two_layers(3);
    spec.k_major = true;
    change(spec);
    CAPTURE(option);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(recurrent(spec)), doctest::Contains(option), InfeasibleError);
  };
  refused("granularity", [](RecurrentSpec& s) { s.granularity = Granularity::coarse; });
  refused("reset", [](RecurrentSpec& s) { s.cell = RecurrentCell::gru_reset_before; });
  refused("projection", [](RecurrentSpec& s) { s.projection = 2; });
  refused("recompute", [](RecurrentSpec& s) {
    s.pass = RecurrentPass::training;
    s.recompute = Recompute::data_drop;
  });
}
