// SPDX-License-Identifier: Apache-2.0
#include "policies/data_parallel.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/policies/planning_policies.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/data_parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::Scene;

TaskGraph training_step(LstmPass pass = LstmPass::training) {
  LstmSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 8};
  spec.pass = pass;
  return lstm(spec);
}

Platform ranks(std::uint32_t count) {
  Platform platform = ideal_platform(2);
  platform.ranks = count;
  return platform;
}

/// What a policy makes of one rank, whether it decides in advance or as it goes.
Plan single_plan(const Policy& policy, const Problem& problem) {
  if (const auto online = policy.online(problem)) return Simulator{}.record(problem, *online).plan;
  return policy.plan(problem);
}

TEST_CASE("every rank does the whole graph, and every gradient is in one bucket") {
  const TaskGraph one = training_step();
  for (const Bytes bucket : {1_B, 600_B, 1_GiB}) {
    const TaskGraph graph = DataParallel{{.ranks = 3, .bucket = bucket}}.apply(one);
    const std::size_t buckets = graph.collectives().size();
    CHECK(graph.task_count() == 3 * (one.task_count() + buckets));
    CHECK(graph.rank_count() == 3);
    Bytes summed{};
    for (const CollectiveId id : graph.collectives().ids()) {
      CHECK(graph.collectives().tasks(id).size() == 3);
      summed += graph.collectives().spec(id).bytes;
    }
    Bytes gradients{};  // of the weights; the states' gradients do not matter
    for (const TensorId tensor : one.tensors().ids()) {
      const auto writers = one.tensors().writers(tensor);
      if (!writers.empty() &&
          one.operation(writers.front()).task_class == TaskClass::weight_gradient) {
        gradients += one.tensors().bytes(tensor);
      }
    }
    CHECK(summed == gradients);
    if (bucket == 1_B) CHECK(buckets > 3);
    if (bucket == 1_GiB) CHECK(buckets == 1);
    for (const CollectiveId id : graph.collectives().ids()) {
      for (const TaskId part : graph.collectives().tasks(id)) {
        CHECK_FALSE(graph.predecessors(part).empty());
        for (const TaskId before : graph.predecessors(part)) {
          CHECK(graph.rank(before) == graph.rank(part));
          CHECK(graph.operation(before).task_class == TaskClass::weight_gradient);
        }
        // A training step's updates come behind the sums.
        CHECK_FALSE(graph.successors(part).empty());
      }
    }
  }
}

TEST_CASE("whole nodes as tasks have the same gradients") {
  for (const LstmPass pass : {LstmPass::backward, LstmPass::training}) {
    LstmSpec spec{.layers = 3, .steps = 4, .batch = 2, .hidden = 8};
    spec.pass = pass;
    std::vector<Bytes> sums;
    for (const Granularity granularity : {Granularity::coarse, Granularity::fine}) {
      spec.granularity = granularity;
      const TaskGraph graph = DataParallel{{.ranks = 2, .bucket = 1_GiB}}.apply(lstm(spec));
      REQUIRE(graph.collectives().size() == 1);
      sums.push_back(graph.collectives().spec(CollectiveId{0}).bytes);
    }
    CHECK(sums[0] == sums[1]);
  }
}

TEST_CASE("graphs without gradients, or with ranks of their own, are refused") {
  const DataParallel two{{.ranks = 2}};
  CHECK_THROWS_AS(static_cast<void>(two.apply(training_step(LstmPass::forward))), InfeasibleError);
  CHECK_THROWS_AS(static_cast<void>(two.apply(two.apply(training_step()))), InfeasibleError);
}

TEST_CASE("every policy's plan of one rank becomes a sound plan of all") {
  for (const LstmPass pass : {LstmPass::backward, LstmPass::training}) {
    const Scene single{training_step(pass), Rng{3}};
    const TaskGraph graph = DataParallel{{.ranks = 3, .bucket = 600_B}}.apply(single.graph);
    const Platform platform = ranks(3);
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    for (const PolicyInfo& info : testing::planning_policies()) {
      CAPTURE(info.name);
      const std::unique_ptr<Policy> policy = make_policy(info.name);
      const Plan one = single_plan(*policy, single.problem());
      for (const bool overlap : {true, false}) {
        const Plan plan = data_parallel_plan(one, graph, overlap);
        expect_well_formed(plan, graph.task_count());
        for (const Finding& finding : check(graph, platform, plan)) {
          CAPTURE(finding.message);
          CHECK(false);
        }
        const Trace trace = simulate(problem, plan);
        CHECK(trace.tasks.size() == graph.task_count());
      }
    }
  }
}

TEST_CASE("equal ranks finish together, and sums that take no time cost nothing") {
  const Scene single{training_step(LstmPass::backward), 5us};
  const TaskGraph graph = DataParallel{{.ranks = 4, .bucket = 1_B}}.apply(single.graph);
  const Platform platform = ranks(4);
  CostTable costs{graph, platform};
  IdVector<TaskId, Duration> durations(graph.task_count(), Duration{5us});
  for (const TaskId task : graph.tasks()) {
    if (graph.collectives().of(task).valid()) durations[task] = Duration{0};
  }
  costs.set_task_durations(durations);
  const Plan one = make_policy("single_stream")->plan(single.problem());
  const Duration alone = simulate(single.problem(), one).makespan();
  const Problem problem{graph, platform, costs};
  CHECK(simulate(problem, data_parallel_plan(one, graph, true)).makespan() == alone);
  CHECK(simulate(problem, data_parallel_plan(one, graph, false)).makespan() == alone);

  // Sums of 3 us each run beside the backward pass; without overlap they follow it.
  const auto buckets = static_cast<std::int64_t>(graph.collectives().size());
  for (const TaskId task : graph.tasks()) {
    if (graph.collectives().of(task).valid()) durations[task] = 3us;
  }
  costs.set_task_durations(durations);
  CHECK(simulate(problem, data_parallel_plan(one, graph, false)).makespan() ==
        alone + buckets * Duration{3us});
  const Duration overlapped = simulate(problem, data_parallel_plan(one, graph, true)).makespan();
  CHECK(overlapped >= alone + 3us);
  CHECK(overlapped < alone + buckets * Duration{3us});
}

TEST_CASE("the slowest rank holds up all at the first sum") {
  const Scene single{training_step(LstmPass::backward), 5us};
  const TaskGraph graph = DataParallel{{.ranks = 2, .bucket = 1_GiB}}.apply(single.graph);
  const Platform platform = ranks(2);
  CostTable costs{graph, platform};
  IdVector<TaskId, Duration> durations(graph.task_count(), Duration{5us});
  for (const TaskId task : graph.tasks()) {
    if (graph.rank(task) == 1) durations[task] = 7us;
  }
  costs.set_task_durations(durations);
  const Plan one = make_policy("single_stream")->plan(single.problem());
  const auto tasks = static_cast<std::int64_t>(single.graph.task_count());
  const Problem problem{graph, platform, costs};
  const Trace trace = simulate(problem, data_parallel_plan(one, graph, true));
  CHECK(trace.makespan() == tasks * Duration{7us} + 7us);  // the slower part of the sum counts
}

}  // namespace
}  // namespace schedlab
