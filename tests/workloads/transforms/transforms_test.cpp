// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "tests/workloads/formats/graph_equal.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/contract.hpp"
#include "workloads/transforms/copied_inputs.hpp"
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

TEST_CASE("copied inputs come before a rank's first tasks, one after the other, all their bytes") {
  TaskGraphBuilder builder;
  const OperationId op = builder.add_operation({.name = "op", .kernels = {}});
  // Rank 0: a -> b, c; rank 1: d. The first tasks are a, c and d.
  for (const std::uint32_t rank : {0U, 0U, 0U, 1U}) {
    const TaskId task = builder.add_task(op);
    builder.set_rank(task, rank);
    builder.set_duration(task, 5us);
  }
  builder.add_edge(TaskId{0}, TaskId{1});
  const TaskGraph graph = std::move(builder).build();
  const TaskGraph copied =
      CopiedInputs{{.count = 3, .bytes = Bytes{1000}, .latency = 2us, .link = Bandwidth{1e9}}}
          // 1000 bytes take 1 us
          .apply(graph);
  REQUIRE(copied.task_count() == 4 + 2 * 3);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    CAPTURE(rank);
    const std::uint32_t first = 4 + 3 * rank;
    std::int64_t bytes = 0;
    Duration time{0};
    for (std::uint32_t i = first; i < first + 3; ++i) {
      CHECK(copied.rank(TaskId{i}) == rank);
      CHECK(copied.operation(TaskId{i}).kind == TaskKind::copy_host_to_device);
      bytes += copied.operation(TaskId{i}).bytes_written().count();
      time += copied.fixed_duration(TaskId{i});
    }
    CHECK(bytes == 1000);  // 333, 333 and 334
    CHECK(time == 3 * 2us + 1us);
    CHECK(copied.predecessors(TaskId{first}).empty());
    CHECK(copied.predecessors(TaskId{first + 1}).front() == TaskId{first});
    CHECK(copied.predecessors(TaskId{first + 2}).front() == TaskId{first + 1});
  }
  for (const std::uint32_t task : {0U, 2U}) {
    REQUIRE(copied.predecessors(TaskId{task}).size() == 1);
    CHECK(copied.predecessors(TaskId{task}).front() == TaskId{6});
  }
  CHECK(copied.predecessors(TaskId{3}).front() == TaskId{9});
  CHECK(copied.predecessors(TaskId{1}).size() == 1);  // a alone, as before
  CHECK(copied.fixed_duration(TaskId{1}) == 5us);
}
