// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/recent_plans.hpp"

#include "policies/registry.hpp"
#include "sim/base/rng.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/placing_policy.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

/// Says with each plan how often it was asked.
class Counting final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "counting"; }
  [[nodiscard]] Plan plan(const Problem&) const override {
    Plan plan;
    plan.policy = std::to_string(++asked_);
    return plan;
  }

 private:
  mutable int asked_ = 0;
};

/// Two streams; a task of at least 10 ps goes to the second.
class LongTasksAside final : public PlacingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "long_tasks_aside"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override {
    PlanBuilder builder{problem};
    builder.add_streams(2);
    for (const TaskId task : problem.graph.tasks()) {
      builder.place(task, StreamId{problem.costs.duration(task) < Duration{10} ? 0U : 1U});
    }
    return builder;
  }
};

std::shared_ptr<const TaskGraph> two_tasks() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  builder.add_task(operation);
  builder.add_task(operation);
  return std::make_shared<TaskGraph>(std::move(builder).build());
}

CostTable costs_of(const TaskGraph& graph, const Platform& platform, Duration second) {
  CostTable costs{graph, platform};
  costs.set_task_durations(IdVector<TaskId, Duration>{{Duration{5}, second}});
  return costs;
}

}  // namespace

TEST_CASE("a plan is made once for a graph and durations, and anew for any others") {
  const Platform platform = ideal_platform();
  const auto graph = two_tasks();
  const auto equal_graph = two_tasks();
  const CostTable costs = costs_of(*graph, platform, Duration{7});
  const CostTable longer = costs_of(*graph, platform, Duration{8});
  RecentPlans plans;
  const Counting policy;
  const auto plan =
      [&](std::uint64_t number, const std::shared_ptr<const TaskGraph>& of, const CostTable& with) {
        return plans.plan(number, policy, of, {*of, platform, with}).policy;
      };
  CHECK(plan(0, graph, costs) == "1");
  CHECK(plan(0, graph, costs) == "1");
  CHECK(plan(1, graph, costs) == "2");
  CHECK(plan(0, graph, costs) == "1");
  CHECK(plan(0, graph, longer) == "3");
  CHECK(plan(0, graph, costs) == "4");  // only the last is kept
  CHECK(plan(0, equal_graph, costs) == "5");
  CHECK(plan(4096, equal_graph, costs) == "6");  // shares its place with policy 0
  CHECK(plan(0, equal_graph, costs) == "7");
  CHECK(plan(1, graph, costs) == "2");
}

TEST_CASE("plans of large graphs are not kept") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  for (int i = 0; i < 4097; ++i) builder.add_task(operation);
  const auto graph = std::make_shared<const TaskGraph>(std::move(builder).build());
  const Platform platform = ideal_platform();
  const CostTable costs{*graph, platform};
  RecentPlans plans;
  const Counting policy;
  CHECK(plans.plan(0, policy, graph, {*graph, platform, costs}).policy == "1");
  CHECK(plans.plan(0, policy, graph, {*graph, platform, costs}).policy == "2");
}

TEST_CASE("while tasks are placed as before, the plan stays, whatever their durations") {
  const Platform platform = ideal_platform();
  const auto graph = two_tasks();
  RecentPlans plans;
  const LongTasksAside policy;
  const auto plan = [&](Duration second) -> const Plan& {
    const CostTable costs = costs_of(*graph, platform, second);
    const Problem problem{*graph, platform, costs};
    const Plan& kept = plans.plan(0, policy, graph, problem);
    CHECK(kept == policy.plan(problem));
    return kept;
  };
  const HostCall* const first = plan(Duration{7}).hosts[HostId{0}].calls.data();
  CHECK(plan(Duration{8}).hosts[HostId{0}].calls.data() == first);  // the very same
  CHECK(plan(Duration{8}).hosts[HostId{0}].calls.data() == first);
  CHECK(plan(Duration{10}).hosts[HostId{0}].calls[1].stream() == StreamId{1});
  CHECK(plan(Duration{11}).hosts[HostId{0}].calls[1].stream() == StreamId{1});
  CHECK(plan(Duration{9}).hosts[HostId{0}].calls[1].stream() == StreamId{0});
}

TEST_CASE("recent plans are those that each policy would make anew") {
  LstmSpec spec{.layers = 2, .steps = 6, .batch = 2, .hidden = 8};
  spec.granularity = Granularity::fine;
  const auto graph = std::make_shared<const TaskGraph>(lstm(spec));
  const Platform platform = ideal_platform();
  RecentPlans plans;
  std::uint64_t number = 0;
  for (const PolicyInfo& info : policies()) {
    if (!info.plans_by_durations) continue;
    CAPTURE(info.name);
    ++number;
    const std::unique_ptr<Policy> policy = make_policy(info.name);
    Rng rng{1};
    for (int i = 0; i < 12; ++i) {
      IdVector<TaskId, Duration> durations;
      // Every other time only a little longer, so that tasks mostly stay where they were.
      for (const TaskId task : graph->tasks()) {
        const auto jitter = static_cast<std::int64_t>(rng.next() % 5000);
        durations.push_back(Duration{1'000 * (1 + task.value() % 7) + (i % 2 == 0 ? i : jitter)});
      }
      CostTable costs{*graph, platform};
      costs.set_task_durations(std::move(durations));
      const Problem problem{*graph, platform, costs};
      REQUIRE(plans.plan(number, *policy, graph, problem) == policy->plan(problem));
    }
  }
  CHECK(number >= 10);
}

}  // namespace schedlab
