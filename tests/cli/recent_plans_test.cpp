// SPDX-License-Identifier: Apache-2.0
#include "cli/recent_plans.hpp"

#include "sim/graph/task_graph.hpp"

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

}  // namespace schedlab
