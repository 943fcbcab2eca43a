// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "tests/workloads/graph_equal.hpp"
#include "workloads/graph_json.hpp"
#include "workloads/lstm.hpp"
#include "workloads/transforms/contract.hpp"
#include "workloads/transforms/renumber.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using schedlab::testing::difference;

TEST_CASE("contracting the fine LSTM by node gives the coarse LSTM") {
  for (const std::int64_t input : {0, 7}) {
    CAPTURE(input);
    LstmSpec spec{.layers = 4, .steps = 5, .batch = 2, .hidden = 3, .input = input};
    const TaskGraph fine = lstm(spec);
    const TaskGraph contracted = Contract::by_node(fine).apply(fine);
    spec.granularity = Granularity::coarse;
    CHECK(difference(contracted, lstm(spec)) == "");
  }
}

TEST_CASE("groups that would wait for each other are refused by name") {
  // a -> b -> c: a and c cannot be one task without b.
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "op", .kernels = {}});
  std::vector<TaskId> tasks;
  for (const char* name : {"a", "b", "c"}) tasks.push_back(builder.add_task(op, {}, name));
  builder.add_edge(tasks[0], tasks[1]);
  builder.add_edge(tasks[1], tasks[2]);
  const TaskGraph graph = std::move(builder).build();
  const Contract contract{IdVector<TaskId, std::uint32_t>{std::vector<std::uint32_t>{0, 1, 0}},
                          "both"};
  try {
    (void)contract.apply(graph);
    FAIL("accepted");
  } catch (const InfeasibleError& error) {
    CHECK(std::string{error.what()}.find("a -> b -> a") != std::string::npos);
  }
}

TEST_CASE("contracting sums durations and keeps lone tasks as they are") {
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "op", .kernels = {}});
  for (int i = 0; i < 3; ++i) builder.set_duration(builder.add_task(op), Duration{10 + i});
  builder.add_edge(TaskId{0}, TaskId{1});
  builder.add_edge(TaskId{1}, TaskId{2});
  const TaskGraph graph = std::move(builder).build();
  const TaskGraph two =
      Contract{IdVector<TaskId, std::uint32_t>{std::vector<std::uint32_t>{7, 7, 8}}, "pair"}.apply(
          graph);
  REQUIRE(two.task_count() == 2);
  CHECK(two.fixed_duration(TaskId{0}) == Duration{10 + 11});
  CHECK(two.fixed_duration(TaskId{1}) == Duration{12});
  CHECK(two.operation(TaskId{0}).name == "pair");
  CHECK(two.name(TaskId{1}) == "op#2");  // its old name
  CHECK(two.edge_count() == 1);
}

TEST_CASE("renumbering makes ids topological and keeps names, durations and tensors") {
  const TaskGraph graph = read_graph_json(
      R"({"schedlab": "graph", "version": 1, "tasks": [
          {"duration_us": 1, "needs": [2]}, {"duration_us": 2, "needs": [0]}, {"duration_us": 3}],
         "tensors": [{"bytes": 8, "written_by": [2], "read_by": [0]}]})",
      "g.json");
  CHECK_FALSE(graph.topologically_numbered());
  const TaskGraph sorted = TopologicalRenumber{}.apply(graph);
  CHECK(sorted.topologically_numbered());
  REQUIRE(sorted.task_count() == 3);
  CHECK(sorted.name(TaskId{0}) == "task#2");
  CHECK(sorted.name(TaskId{2}) == "task#1");
  CHECK(sorted.fixed_duration(TaskId{0}) == Duration{3'000'000});
  CHECK(sorted.edge_count() == 2);
  CHECK(sorted.tensors().writers(TensorId{0})[0] == TaskId{0});
  CHECK(sorted.tensors().readers(TensorId{0})[0] == TaskId{1});
}
