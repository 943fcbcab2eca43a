// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_builder.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

/// 0 -> 1 -> 3, 0 -> 2 -> 3
TaskGraph diamond() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (int i = 0; i < 4; ++i) builder.add_task(operation);
  builder.add_edge(TaskId{0}, TaskId{1});
  builder.add_edge(TaskId{0}, TaskId{2});
  builder.add_edge(TaskId{1}, TaskId{3});
  builder.add_edge(TaskId{2}, TaskId{3});
  return std::move(builder).build();
}

using Calls = std::vector<HostCall>;
constexpr StreamId s0{0};
constexpr StreamId s1{1};
constexpr StreamId s2{2};
constexpr EventId e0{0};
constexpr EventId e1{1};

const Calls& calls_of(const Plan& plan) {
  return plan.hosts[HostId{0}].calls;
}

TEST_CASE("placing on the earliest finish is asking for it and placing there") {
  const Scene scene{diamond(), 10us};
  PlanBuilder asked{scene.problem()};
  PlanBuilder placed{scene.problem()};
  asked.add_streams(3);
  placed.add_streams(3);
  for (const TaskId task : scene.graph.tasks()) {
    asked.place(task, asked.earliest_finish(task));
    placed.place_on_earliest_finish(task);
    CHECK(placed.placement() == asked.placement());
  }
  // 0 and 1 one after the other, 2 beside 1, and 3, for which two streams are free, on the first.
  const std::vector<StreamId> expected{s0, s0, s1, s0};
  CHECK(placed.placement().stream_of.raw() == expected);
  CHECK(std::move(placed).build("test") == std::move(asked).build("test"));
}

TEST_CASE("each edge across streams becomes a record and a wait") {
  const Scene scene{diamond(), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_streams(2);
  builder.place(TaskId{0}, s0);
  builder.place(TaskId{1}, s0);
  builder.place(TaskId{2}, s1);
  builder.place(TaskId{3}, s0);
  const Plan plan = std::move(builder).build("test");
  CHECK(plan.event_count == 2);
  CHECK(calls_of(plan) == Calls{HostCall::launch(s0, TaskId{0}),
                                HostCall::record(s0, e0),
                                HostCall::launch(s0, TaskId{1}),
                                HostCall::wait(s1, e0),
                                HostCall::launch(s1, TaskId{2}),
                                HostCall::record(s1, e1),
                                HostCall::wait(s0, e1),
                                HostCall::launch(s0, TaskId{3})});
}

TEST_CASE("tasks of one stream need no events") {
  const Scene scene{diamond(), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_streams(1);
  for (const TaskId task : scene.graph.tasks()) builder.place(task, s0);
  CHECK(std::move(builder).build("test").call_count() == 4);
}

TEST_CASE("a wait that other waits imply is left out, over any number of streams") {
  // a -> b -> c on three streams, and a -> c, which follows.
  TaskGraphBuilder graph;
  const OperationId operation = graph.add_operation({.name = "task"});
  for (int i = 0; i < 3; ++i) graph.add_task(operation);
  graph.add_edge(TaskId{0}, TaskId{1});
  graph.add_edge(TaskId{1}, TaskId{2});
  graph.add_edge(TaskId{0}, TaskId{2});
  const Scene scene{std::move(graph).build(), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_streams(3);
  builder.place(TaskId{0}, s0);
  builder.place(TaskId{1}, s1);
  builder.place(TaskId{2}, s2);
  const Plan plan = std::move(builder).build("test");
  CHECK(plan.count(HostCallKind::wait) == 2);
  CHECK(plan.count(HostCallKind::record) == 2);
}

TEST_CASE("no wait of a built plan can be taken away") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Scene scene{testing::random_dag(seed, 30, 0.1), 10us};
    PlanBuilder builder{scene.problem()};
    builder.add_streams(4);
    Rng rng{seed};
    for (const TaskId task : scene.graph.tasks()) {
      builder.place(task, StreamId{static_cast<std::uint32_t>(rng.below(4))});
    }
    const Plan plan = std::move(builder).build("test");
    CHECK(check(scene.graph, scene.platform, plan).empty());
    for (std::size_t i = 0; i < calls_of(plan).size(); ++i) {
      if (calls_of(plan)[i].kind() != HostCallKind::wait) continue;
      Plan shorter = plan;
      Calls& calls = shorter.hosts[HostId{0}].calls;
      calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i));
      CAPTURE(seed);
      CAPTURE(i);
      CHECK_FALSE(check(scene.graph, scene.platform, shorter).empty());
    }
  }
}

TEST_CASE("tasks that add into one tensor are ordered as they are placed") {
  TaskGraphBuilder graph;
  const OperationId operation = graph.add_operation({.name = "add"});
  const TensorId sum = graph.add_tensor({.name = "sum", .bytes = 8_B, .accumulate = true});
  for (std::uint32_t i = 0; i < 3; ++i) graph.writes(graph.add_task(operation), sum);
  const Scene scene{std::move(graph).build(), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_streams(2);
  builder.place(TaskId{2}, s0);
  builder.place(TaskId{0}, s1);
  CHECK(builder.ready_time(TaskId{1}) == Time{20us});  // 2, then 0, then 1
  CHECK(builder.earliest_finish(TaskId{1}) == s0);
  builder.place(TaskId{1}, s0);
  const Plan plan = std::move(builder).build("test");
  CHECK(calls_of(plan) == Calls{HostCall::launch(s0, TaskId{2}),
                                HostCall::record(s0, e0),
                                HostCall::wait(s1, e0),
                                HostCall::launch(s1, TaskId{0}),
                                HostCall::record(s1, e1),
                                HostCall::wait(s0, e1),
                                HostCall::launch(s0, TaskId{1})});
  CHECK(check(scene.graph, scene.platform, plan).empty());
}

TEST_CASE("a join waits for the last task of every other stream") {
  const Scene scene{testing::random_dag(1, 5, 0.0), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_streams(3);
  builder.place(TaskId{0}, s0);
  builder.place(TaskId{1}, s1);
  builder.place(TaskId{2}, s1);
  CHECK(builder.last_tasks() == std::vector<TaskId>{TaskId{0}, TaskId{2}});
  builder.place(TaskId{3}, s0, builder.last_tasks());
  builder.place(TaskId{4}, s0);
  CHECK(builder.free_at(s0) == Time{40us});  // stream 1 ends at 20, then two tasks
  const Plan plan = std::move(builder).build("test");
  CHECK(calls_of(plan) == Calls{HostCall::launch(s0, TaskId{0}),
                                HostCall::launch(s1, TaskId{1}),
                                HostCall::launch(s1, TaskId{2}),
                                HostCall::record(s1, e0),
                                HostCall::wait(s0, e0),
                                HostCall::launch(s0, TaskId{3}),
                                HostCall::launch(s0, TaskId{4})});
}

TEST_CASE("created streams are created at first use, destroyed at the end, and only if used") {
  const Scene scene{testing::random_dag(1, 2, 0.0), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_stream({}, true);
  builder.add_stream({}, true);
  builder.place(TaskId{0}, s1);
  builder.place(TaskId{1}, s1);
  const Plan plan = std::move(builder).build("test");
  CHECK(calls_of(plan) == Calls{HostCall::create_stream(s1),
                                HostCall::launch(s1, TaskId{0}),
                                HostCall::launch(s1, TaskId{1}),
                                HostCall::destroy_stream(s1)});
}

TEST_CASE("times are estimated for the ideal host") {
  const Scene scene{diamond(), 10us};
  PlanBuilder builder{scene.problem()};
  builder.add_streams(2);
  builder.place(TaskId{0}, s0);
  CHECK(builder.ready_time(TaskId{1}) == Time{10us});
  CHECK(builder.finish_on(TaskId{1}, s0) == Time{20us});
  CHECK(builder.finish_on(TaskId{1}, s1) == Time{20us});
  CHECK(builder.earliest_finish(TaskId{1}) == s0);  // the lower id among equals
  CHECK(builder.earliest_free() == s1);
  builder.place(TaskId{1}, s0);
  CHECK(builder.earliest_finish(TaskId{2}) == s1);
}

TEST_CASE("misuse is refused with the name of the task") {
  const Scene scene{diamond(), 10us};
  const auto message = [&](const auto& misuse) {
    PlanBuilder builder{scene.problem()};
    builder.add_streams(1);
    try {
      misuse(builder);
    } catch (const ContractViolation& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  const std::string early = message([](PlanBuilder& b) { b.place(TaskId{1}, s0); });
  CHECK(early.find("task#1") != std::string::npos);
  CHECK(early.find("task#0") != std::string::npos);
  const std::string twice = message([](PlanBuilder& b) {
    b.place(TaskId{0}, s0);
    b.place(TaskId{0}, s0);
  });
  CHECK(twice.find("task#0 is placed twice") != std::string::npos);
  const std::string missing = message([](PlanBuilder& b) {
    b.place(TaskId{0}, s0);
    (void)std::move(b).build("test");
  });
  CHECK(missing.find("task#1 was not placed") != std::string::npos);
  CHECK(message([](PlanBuilder& b) { b.place(TaskId{0}, s1); }).find("stream 1") !=
        std::string::npos);
}

}  // namespace
}  // namespace schedlab
