// SPDX-License-Identifier: Apache-2.0
// Core groups that take operators while the run goes on, against plans made before it.
#include "policies/core_group_run.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/convolution/conv_nets.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::graph_of;
using testing::Scene;

constexpr std::array policy_names{"successor_first", "round_robin_fifo", "work_stealing"};
constexpr std::array dynamic_names{
    "successor_first", "round_robin_fifo", "work_stealing", "critical_first"};

std::map<std::string, OptionValue> options_of(std::uint32_t groups, const char* dispatch) {
  return {{"max_streams", std::int64_t{groups}}, {"dispatch", std::string{dispatch}}};
}

Simulator::Recording dynamic_run(const char* policy, const Problem& problem, std::uint32_t groups) {
  const auto online = make_policy(policy, options_of(groups, "dynamic"))->online(problem);
  REQUIRE(online != nullptr);
  return Simulator{}.record(problem, *online, {.record_flows = true});
}

/// Tasks in the order in which they were taken, with the group of each.
std::vector<std::pair<std::uint32_t, std::uint32_t>> taken(const Plan& plan) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) {
      result.emplace_back(call.task().value(), call.stream().value());
    }
  }
  return result;
}

void expect_same_as_static(const Scene& scene, std::uint32_t groups) {
  for (const char* policy : policy_names) {
    CAPTURE(policy);
    CAPTURE(groups);
    const Simulator::Recording dynamic = dynamic_run(policy, scene.problem(), groups);
    const Plan ahead = make_policy(policy, options_of(groups, "static"))->plan(scene.problem());
    CHECK(dynamic.plan == ahead);
    CHECK(check(scene.graph, scene.platform, dynamic.plan).empty());
    const Trace replayed = simulate(scene.problem(), ahead);
    CHECK(dynamic.trace.ended == replayed.ended);
    REQUIRE(dynamic.trace.tasks.size() == replayed.tasks.size());
    for (std::size_t i = 0; i < replayed.tasks.size(); ++i) {
      CHECK(dynamic.trace.tasks[i].task == replayed.tasks[i].task);
      CHECK(dynamic.trace.tasks[i].stream == replayed.tasks[i].stream);
      CHECK(dynamic.trace.tasks[i].started == replayed.tasks[i].started);
      CHECK(dynamic.trace.tasks[i].ended == replayed.tasks[i].ended);
    }
  }
}

TEST_CASE("dynamic dispatch decides as the plan where durations are as estimated") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const auto tasks = static_cast<std::uint32_t>(10 + 5 * seed);
    const Scene scene{testing::random_dag(seed, tasks, 0.08), Rng{seed}};
    for (const std::uint32_t groups : {1U, 2U, 5U}) expect_same_as_static(scene, groups);
  }
}

TEST_CASE("dynamic dispatch decides as the plan where many operators end at once") {
  expect_same_as_static(Scene{testing::gradient_grid(4, 6), 10us}, 3);
  expect_same_as_static(Scene{testing::random_dag(7, 40, 0.1), 5us}, 4);
  expect_same_as_static(Scene{graph_of({0us, 0us, 1us, 0us}, {{0, 2}, {1, 3}})}, 2);
}

TEST_CASE("dynamic dispatch keeps apart what adds into one tensor, as the plan does") {
  LstmSpec spec{.layers = 2, .steps = 5, .batch = 2, .hidden = 8};
  const Scene recurrent{lstm(spec), Rng{3}};
  ConvNetSpec net;
  net.network = ConvNetwork::alexnet;
  net.batch = 4;
  net.split = 2;
  net.image = 67;
  net.classes = 10;
  const Scene convolutions{conv_net(net), Rng{4}};
  for (const Scene* scene : {&recurrent, &convolutions}) {
    for (const std::uint32_t groups : {2U, 4U}) expect_same_as_static(*scene, groups);
  }
}

TEST_CASE("dynamic dispatch decides by what happens, as a plan that had known it") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const Scene expected{testing::random_dag(seed, 40, 0.06), 10us};
    const Scene happens{testing::random_dag(seed, 40, 0.06), Rng{seed}};
    for (const char* policy : policy_names) {
      CAPTURE(policy);
      const auto online = make_policy(policy, options_of(3, "dynamic"))->online(expected.problem());
      CHECK(Simulator{}.record(happens.problem(), *online).plan ==
            make_policy(policy, options_of(3, "static"))->plan(happens.problem()));
    }
  }
}

TEST_CASE("a plan made by wrong durations leaves a group idle that dynamic dispatch uses") {
  // 0 and 1 are expected to last equally long, so that the plan deals 2 to group 0 and 3 to 1; in
  // fact 1 lasts 9 us, in which group 0 takes 2 and 3 as well.
  const Scene expected{graph_of({1us, 1us, 4us, 4us}, {})};
  const Scene happens{graph_of({1us, 9us, 4us, 4us}, {})};
  const Plan ahead =
      make_policy("successor_first", options_of(2, "static"))->plan(expected.problem());
  CHECK(simulate(happens.problem(), ahead).makespan() == 13us);
  const auto online =
      make_policy("successor_first", options_of(2, "dynamic"))->online(expected.problem());
  const auto run = Simulator{}.record(happens.problem(), *online);
  CHECK(run.trace.makespan() == 9us);
  using Taken = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  CHECK(taken(run.plan) == Taken{{0, 0}, {1, 1}, {2, 0}, {3, 0}});
}

TEST_CASE("work_stealing runs its own newest first and takes the oldest of another") {
  // 0 -> 2, 3, 4 on group 0, which takes the newest, 4; group 1 has run dry with 1 and takes 2,
  // the oldest; 0's queue still has 3, which group 1 (2 us) takes before group 0 (3 us) is back.
  const Scene scene{graph_of({1us, 1us, 2us, 2us, 4us}, {{0, 2}, {0, 3}, {0, 4}})};
  using Taken = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const auto run = dynamic_run("work_stealing", scene.problem(), 2);
  CHECK(taken(run.plan) == Taken{{0, 0}, {1, 1}, {4, 0}, {2, 1}, {3, 1}});
  CHECK(run.trace.makespan() == 5us);
  // There is nothing to steal: a chain stays where it began.
  const Scene chain{graph_of({1us, 1us, 1us}, {{0, 1}, {1, 2}})};
  CHECK(taken(dynamic_run("work_stealing", chain.problem(), 3).plan) ==
        Taken{{0, 0}, {1, 0}, {2, 0}});
}

TEST_CASE("workers of critical_first take critical tasks first, then others by order or rank") {
  // 0, 1 and 4 are not critical, 2 -> 3 are; behind 4 is a longer path than behind 0 and 1.
  TaskGraphBuilder builder;
  const OperationId other = builder.add_operation({.name = "other"});
  const OperationId critical =
      builder.add_operation({.name = "critical", .task_class = TaskClass::critical_matmul});
  for (const OperationId operation : {other, other, critical, critical, other, other}) {
    builder.set_duration(builder.add_task(operation), 1us);
  }
  builder.add_edge(TaskId{2}, TaskId{3});
  builder.add_edge(TaskId{4}, TaskId{5});
  const Scene scene{std::move(builder).build()};
  const auto order = [&](const char* queue_order) {
    auto options = options_of(1, "dynamic");
    options["queue_order"] = std::string{queue_order};
    const auto online = make_policy("critical_first", options)->online(scene.problem());
    std::vector<std::uint32_t> tasks;
    for (const auto& [task, group] : taken(Simulator{}.record(scene.problem(), *online).plan)) {
      tasks.push_back(task);
    }
    return tasks;
  };
  CHECK(order("in_order") == std::vector<std::uint32_t>{2, 3, 0, 1, 4, 5});
  CHECK(order("by_rank") == std::vector<std::uint32_t>{2, 3, 4, 0, 1, 5});
}

TEST_CASE("choosing takes one thread after another when groups take operators themselves, too") {
  // As in the test of plans: starts at 3 and 6 us, then at 16 and 19, end at 29.
  const Scene scene{graph_of({10us, 10us, 10us, 10us}, {})};
  for (const char* policy : policy_names) {
    CAPTURE(policy);
    auto options = options_of(2, "dynamic");
    options["scheduling_us"] = 3.0;
    const auto online = make_policy(policy, options)->online(scene.problem());
    CHECK(Simulator{}.record(scene.problem(), *online).trace.makespan() == 29us);
  }
}

TEST_CASE("dynamic dispatch runs every task once and in order, however units are shared") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    CAPTURE(static_cast<int>(sharing));
    Scene scene{testing::random_dag(5, 60, 0.05), Rng{5}};
    scene.platform.sharing = sharing;
    Device& device = scene.platform.devices[DeviceId{0}];
    device.stream_gap = 300ns;
    device.unit_class_of.fill(device.unit_classes.push_back({"core", 2}));
    const IdVector<TaskId, Duration> durations = scene.costs.durations();
    scene.costs = CostTable{scene.graph, scene.platform};
    scene.costs.set_task_durations(durations);
    for (const char* policy : dynamic_names) {
      CAPTURE(policy);
      const auto run = dynamic_run(policy, scene.problem(), 4);
      CHECK(check(scene.graph, scene.platform, run.plan).empty());
      REQUIRE(run.trace.tasks.size() == scene.graph.task_count());
      IdVector<TaskId, Time> ended(scene.graph.task_count(), Time{});
      for (const TaskSpan& span : run.trace.tasks) {
        ended[span.task] = span.ended;
        for (const TaskId before : scene.graph.predecessors(span.task)) {
          CHECK(ended[before] <= span.started);
        }
      }
    }
  }
}

TEST_CASE("a host thread cannot make the decisions of workers, and is told what to do") {
  const Scene scene{graph_of({1us}, {})};
  const auto online =
      make_policy("successor_first", options_of(2, "dynamic"))->online(scene.problem());
  CHECK_THROWS_WITH_AS(
      (void)online->next({}), doctest::Contains("\"dispatch\": \"static\""), InfeasibleError);
}

}  // namespace
}  // namespace schedlab
