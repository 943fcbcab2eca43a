// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/graph/levels.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "tests/support/random_plan.hpp"

#include <limits>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

/// 0 -> 1 -> 3, 0 -> 2 -> 3 with durations 1, 5, 2, 1 us.
TaskGraph diamond() {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t"});
  for (const int us : {1, 5, 2, 1}) {
    const TaskId task = b.add_task(op);
    b.set_duration(task, std::chrono::microseconds{us});
  }
  b.add_edge(TaskId{2}, TaskId{3});
  b.add_edge(TaskId{0}, TaskId{1});
  b.add_edge(TaskId{1}, TaskId{3});
  b.add_edge(TaskId{0}, TaskId{2});
  b.add_edge(TaskId{0}, TaskId{1});  // again
  return std::move(b).build();
}

std::vector<std::uint32_t> values(std::span<const TaskId> tasks) {
  std::vector<std::uint32_t> result;
  for (const TaskId task : tasks) result.push_back(task.value());
  return result;
}

}  // namespace

TEST_CASE("edges are sorted and merged, in both directions") {
  const TaskGraph graph = diamond();
  CHECK(graph.edge_count() == 4);
  CHECK(values(graph.successors(TaskId{0})) == std::vector<std::uint32_t>{1, 2});
  CHECK(values(graph.predecessors(TaskId{3})) == std::vector<std::uint32_t>{1, 2});
  CHECK(graph.topologically_numbered());
}

TEST_CASE("a graph does not depend on the order in which its edges are added") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    std::vector<std::pair<TaskId, TaskId>> edges;  // row by row, each row ascending
    for (const TaskId task : graph.tasks()) {
      for (const TaskId before : graph.predecessors(task)) edges.emplace_back(before, task);
    }
    Rng rng{seed};
    for (const bool shuffled : {false, true}) {
      // In place: rows stay where they are. Shuffled: from some edge on they come in any order.
      const std::size_t first = shuffled ? rng.below(edges.size() + 1) : edges.size();
      for (std::size_t i = edges.size(); i-- > first + 1;) {
        std::swap(edges[i], edges[first + rng.below(i - first + 1)]);
      }
      TaskGraphBuilder b;
      const OperationId op = b.add_operation({.name = "t"});
      for (std::size_t i = 0; i < graph.task_count(); ++i) b.add_task(op);
      for (const auto& [from, to] : edges) b.add_edge(from, to);
      for (std::size_t i = first; i < edges.size(); i += 3) {
        b.add_edge(edges[i].first, edges[i].second);  // again
      }
      const TaskGraph copy = std::move(b).build();
      REQUIRE(copy.edge_count() == graph.edge_count());
      CHECK(copy.topologically_numbered() == graph.topologically_numbered());
      for (const TaskId task : graph.tasks()) {
        REQUIRE(values(copy.predecessors(task)) == values(graph.predecessors(task)));
        REQUIRE(values(copy.successors(task)) == values(graph.successors(task)));
      }
    }
  }
}

TEST_CASE("an edge to or from a task that does not exist is refused") {
  for (const auto& [from, to] : {std::pair{0U, 7U}, std::pair{7U, 0U}, std::pair{0U, 1U}}) {
    TaskGraphBuilder b;
    b.add_task(b.add_operation({.name = "t"}));
    b.add_edge(TaskId{from}, TaskId{to});
    CHECK_THROWS_AS((void)std::move(b).build(), ContractViolation);
  }
}

TEST_CASE("durations of single tasks can be added with them or later") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t", .fixed_duration = 3us});
  b.add_task(op);
  b.add_task(op, {.layer = 1, .stage = 2, .step = 4, .microbatch = 5}, Duration{7});
  b.add_task(op, {}, Duration{8});
  b.add_task(op);
  b.set_duration(TaskId{2}, Duration{9});
  const TaskGraph graph = std::move(b).build();
  CHECK(graph.fixed_duration(TaskId{0}) == 3us);
  CHECK(graph.fixed_duration(TaskId{1}) == Duration{7});
  CHECK(graph.tags(TaskId{1}) == Tags{.layer = 1, .stage = 2, .step = 4, .microbatch = 5});
  CHECK(graph.fixed_duration(TaskId{2}) == Duration{9});
  CHECK(graph.fixed_duration(TaskId{3}) == 3us);
}

TEST_CASE("ranks, slack and the critical path of a diamond") {
  const TaskGraph graph = diamond();
  IdVector<TaskId, Duration> d;
  for (const TaskId task : graph.tasks()) d.push_back(graph.fixed_duration(task));
  const auto up = upward_rank(graph, d);
  CHECK(up[TaskId{0}] == 7us);  // 1 + 5 + 1
  CHECK(up[TaskId{2}] == 3us);
  CHECK(downward_rank(graph, d)[TaskId{3}] == 6us);
  CHECK(slack(graph, d)[TaskId{2}] == 3us);  // may start at 4 instead of 1
  CHECK(slack(graph, d)[TaskId{1}] == 0us);
  CHECK(values(critical_path(graph, d)) == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(critical_path_length(graph, d) == 7us);
  CHECK(levels(graph)[TaskId{3}] == 2);
}

TEST_CASE("rank identities hold on random graphs") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    IdVector<TaskId, Duration> d;
    for (const TaskId task : graph.tasks()) d.push_back(graph.fixed_duration(task));
    const Duration length = critical_path_length(graph, d);
    Duration along{0};
    for (const TaskId task : critical_path(graph, d)) along += d[task];
    CHECK(along == length);
    const auto spare = slack(graph, d);
    for (const TaskId task : graph.tasks()) CHECK(spare[task] >= Duration{0});
    for (const TaskId task : critical_path(graph, d)) CHECK(spare[task] == Duration{0});
  }
}

TEST_CASE("a cycle is refused with its tasks") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t"});
  for (int i = 0; i < 4; ++i) b.add_task(op);
  b.add_edge(TaskId{0}, TaskId{1});
  b.add_edge(TaskId{1}, TaskId{2});
  b.add_edge(TaskId{2}, TaskId{3});
  b.add_edge(TaskId{3}, TaskId{1});
  CHECK_THROWS_WITH_AS((void)std::move(b).build(),
                       doctest::Contains("the cycle t#1 -> t#2 -> t#3 -> t#1"),
                       InputError);
}

TEST_CASE("any numbering is accepted; a topological order is found") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t"});
  for (int i = 0; i < 3; ++i) b.add_task(op);
  b.add_edge(TaskId{2}, TaskId{1});
  b.add_edge(TaskId{1}, TaskId{0});
  const TaskGraph graph = std::move(b).build();
  CHECK_FALSE(graph.topologically_numbered());
  CHECK(values(graph.topological_order()) == std::vector<std::uint32_t>{2, 1, 0});
}

TEST_CASE("names are given, or made from operation and tags") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "cell"});
  b.add_task(op, {.layer = 3, .step = 9});
  b.add_task(op, {.layer = 3}, "special");
  b.add_task(op, {.layer = 3});
  b.add_task(op, {.stage = 2, .microbatch = 5});
  b.add_task(op);
  const TaskGraph graph = std::move(b).build();
  CHECK(graph.name(TaskId{0}) == "cell(3,9)");
  CHECK(graph.name(TaskId{1}) == "special");
  CHECK(graph.name(TaskId{2}) == "cell(3)");
  CHECK(graph.name(TaskId{3}) == "cell[stage 2, microbatch 5]");
  CHECK(graph.name(TaskId{4}) == "cell#4");
  CHECK(graph.find("special") == TaskId{1});
  CHECK_FALSE(graph.find("nothing").valid());
}

TEST_CASE("reading a tensor makes the task depend on its writers") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t"});
  for (int i = 0; i < 3; ++i) b.add_task(op);
  const TensorId sum = b.add_tensor({.name = "sum", .bytes = 64_B, .accumulate = true});
  const TensorId input = b.add_tensor({.bytes = 8_B, .persistent = true});
  b.writes(TaskId{0}, sum);
  b.writes(TaskId{1}, sum);
  b.reads(TaskId{1}, sum);  // adds into it: a writer, so no edge from task 0
  b.reads(TaskId{2}, sum);
  b.reads(TaskId{0}, input);  // without a writer
  const TaskGraph graph = std::move(b).build();
  CHECK(values(graph.predecessors(TaskId{2})) == std::vector<std::uint32_t>{0, 1});
  CHECK(graph.predecessors(TaskId{1}).empty());
  CHECK(graph.tensors().accumulate(sum));
  CHECK(graph.tensors().name(sum) == "sum");
  CHECK(graph.tensors().name(input).empty());
  CHECK(graph.tensors().persistent(input));
  CHECK(values(graph.tensors().writers(sum)) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("several writers need the accumulate flag") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t"});
  b.add_task(op);
  b.add_task(op);
  const TensorId x = b.add_tensor({.name = "x", .bytes = 1_B});
  b.writes(TaskId{0}, x);
  b.writes(TaskId{1}, x);
  CHECK_THROWS_WITH_AS(
      (void)std::move(b).build(), doctest::Contains("\"x\" has 2 writers"), ContractViolation);
}

TEST_CASE("a matrix product has 2mnk FLOPs and moves its matrices once; no shape overflows") {
  const Kernel k = gemm_kernel(2, 3, 5, DataType::fp16, true);
  CHECK(k.flops == Flops{60});
  CHECK(k.bytes_read == Bytes{2 * (2 * 5 + 5 * 3 + 2 * 3)});
  CHECK(k.bytes_written == Bytes{2 * 6});
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(gemm_kernel(huge, huge, huge, DataType::fp64, true).bytes_written ==
        Bytes{std::int64_t{1} << 58});
}

TEST_CASE("a cost table holds whole units where they are exclusive, blocks where they are shared") {
  TaskGraphBuilder b;
  b.add_task(b.add_operation({.name = "k", .kind = TaskKind::gemm}));
  const TaskGraph graph = std::move(b).build();
  Platform platform = ideal_platform();
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({"sm", 10}));
  struct Model final : CostModel {
    [[nodiscard]] std::string_view name() const override { return "model"; }
    [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
      Estimate e;
      e.duration = 10us;
      e.share = 0.31;
      e.blocks = 12;  // two waves of 10, the second with 2
      return e;
    }
  };
  const CostTable exclusive{graph, platform, Model{}};
  CHECK(exclusive.entry(TaskId{0}).units == 4);  // ceil(3.1)
  CHECK(exclusive.entry(TaskId{0}).mean_share == doctest::Approx(0.4));
  platform.sharing = SharingModel::fluid;
  CHECK(CostTable{graph, platform, Model{}}.entry(TaskId{0}).mean_share == doctest::Approx(0.6));
}
