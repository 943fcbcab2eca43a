// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

using Knobs = std::map<std::string, OptionValue>;

const std::string barriers[] = {"host", "events"};

/// An Inception-like block: entry; then 1, 2 and 3 tasks in a row side by side; exit.
TaskGraph block() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "op"});
  for (int i = 0; i < 8; ++i) builder.add_task(operation);
  const auto edge = [&](std::uint32_t a, std::uint32_t b) {
    builder.add_edge(TaskId{a}, TaskId{b});
  };
  edge(0, 1);
  edge(0, 2), edge(2, 3);
  edge(0, 4), edge(4, 5), edge(5, 6);
  edge(1, 7), edge(3, 7), edge(6, 7);
  return std::move(builder).build();
}

Duration makespan(const Scene& scene, const Knobs& options) {
  const Plan plan = testing::plan_by("greedy_stages", scene.problem(), options);
  CHECK(check(scene.graph, scene.platform, plan).empty());
  return simulate(scene.problem(), plan).makespan();
}

}  // namespace

TEST_CASE("a stage takes as long as its longest task, and the stages follow each other") {
  // Durations 1, 10, 2, 3, 4, 5, 6, 1. Stages {0}, {1, 2, 4}, {3, 5}, {6}, {7}: 1 + 10 + 5 + 6 + 1.
  // The longest path 0, 4, 5, 6, 7 would be 17.
  Scene scene{block()};
  IdVector<TaskId, Duration> durations;
  for (const int us : {1, 10, 2, 3, 4, 5, 6, 1}) durations.push_back(std::chrono::microseconds{us});
  scene.costs.set_task_durations(durations);
  for (const std::string& barrier : barriers) {
    CHECK(makespan(scene, Knobs{{"barrier", barrier}}) == 23us);
    // On two streams the second stage is {1, 4} after each other and {2}: 14 instead of 10.
    CHECK(makespan(scene, {{"barrier", barrier}, {"max_streams", 2}}) == 27us);
    CHECK(makespan(scene, {{"barrier", barrier}, {"max_streams", 1}}) == 32us);
  }
}

TEST_CASE("a grid has a stage per diagonal") {
  for (const std::uint32_t layers : {1U, 3U, 6U}) {
    for (const std::uint32_t steps : {1U, 4U, 9U}) {
      CAPTURE(layers);
      CAPTURE(steps);
      const Scene scene{testing::gradient_grid(layers, steps), 10us};
      for (const std::string& barrier : barriers) {
        CHECK(makespan(scene, Knobs{{"barrier", barrier}}) == (layers + steps - 1) * 10us);
      }
    }
  }
}

TEST_CASE("no task starts before the whole stage before it has ended") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Scene scene{testing::random_dag(seed, 60, 0.05), Rng{seed}};
    const IdVector<TaskId, std::uint32_t> level = levels(scene.graph);
    for (const std::string& barrier : barriers) {
      for (const std::uint32_t streams : {0U, 1U, 3U}) {
        CAPTURE(seed);
        CAPTURE(streams);
        const Plan plan = testing::plan_by(
            "greedy_stages", scene.problem(), {{"barrier", barrier}, {"max_streams", streams}});
        const Trace trace = simulate(scene.problem(), plan);
        IdVector<TaskId, Time> started(scene.graph.task_count(), Time{});
        IdVector<TaskId, Time> ended(scene.graph.task_count(), Time{});
        for (const auto& span : trace.tasks) {
          started[span.task] = span.started;
          ended[span.task] = span.ended;
        }
        for (const TaskId a : scene.graph.tasks()) {
          for (const TaskId b : scene.graph.tasks()) {
            if (level[a] < level[b]) CHECK(ended[a] <= started[b]);
          }
        }
      }
    }
  }
}

TEST_CASE("stages of one task need no barrier, and a barrier costs the host its wake-up") {
  Scene chain{testing::random_dag(1, 5, 1.0), 10us};  // every pair: a chain
  chain.platform.hosts[HostId{0}].costs.wake_up = 4us;
  chain.platform.hosts[HostId{0}].costs.synchronize = 1us;
  const Plan plan = testing::plan_by("greedy_stages", chain.problem());
  CHECK(plan.count(HostCallKind::synchronize) == 0);
  CHECK(plan.event_count == 0);
  CHECK(simulate(chain.problem(), plan).makespan() == 50us);

  // The block has a barrier between 5 stages but not between the last two: 3 wake-ups of 4 us.
  Scene scene{block(), 10us};
  scene.platform.hosts[HostId{0}].costs.wake_up = 4us;
  const Plan host = testing::plan_by("greedy_stages", scene.problem());
  CHECK(host.count(HostCallKind::synchronize) == 3);
  CHECK(simulate(scene.problem(), host).makespan() == 62us);
  const Plan events =
      testing::plan_by("greedy_stages", scene.problem(), Knobs{{"barrier", "events"}});
  CHECK(events.count(HostCallKind::synchronize) == 0);
  CHECK(simulate(scene.problem(), events).makespan() == 50us);
}

TEST_CASE("tasks of a stage that add into one tensor run one after another") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "add"});
  const TensorId a = builder.add_tensor({.name = "a", .bytes = Bytes{8}, .accumulate = true});
  const TensorId b = builder.add_tensor({.name = "b", .bytes = Bytes{8}, .accumulate = true});
  // 0 adds into a, 1 into b, 2 into neither, 3 into both: 0, 1 and 3 are one group.
  for (int i = 0; i < 4; ++i) builder.add_task(operation);
  builder.writes(TaskId{0}, a);
  builder.writes(TaskId{1}, b);
  builder.writes(TaskId{3}, a);
  builder.writes(TaskId{3}, b);
  const Scene scene{std::move(builder).build(), 10us};
  for (const std::string& barrier : barriers)
    CHECK(makespan(scene, Knobs{{"barrier", barrier}}) == 30us);
}

}  // namespace schedlab
