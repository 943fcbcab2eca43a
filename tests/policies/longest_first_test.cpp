// SPDX-License-Identifier: Apache-2.0
#include "policies/policy_info.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace schedlab {

PolicyInfo longest_first_info();  // longest_first.cpp: the example is in no registry

namespace {

using namespace std::chrono_literals;

Plan plan_with(const Problem& problem, std::int64_t streams) {
  const PolicyInfo info = longest_first_info();
  return info.make(resolve_options(info.name, info.options, {{"max_streams", streams}}))
      ->plan(problem);
}

testing::Scene tasks_of(std::initializer_list<int> durations_us) {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (const int us : durations_us) {
    builder.set_duration(builder.add_task(operation), std::chrono::microseconds{us});
  }
  return testing::Scene{std::move(builder).build()};
}

// What docs/adding_a_policy.md shows; the test docs.snippets compares the two.
TEST_CASE("the longest ready task goes to the stream that is free first") {
  // Two streams: 3+2+2 and 3+2, so 7 us, where 6 us (3+3, 2+2+2) would do: the classic example of
  // how far this rule is from the optimum.
  const testing::Scene scene = tasks_of({2, 3, 2, 3, 2});
  const Plan plan = plan_with(scene.problem(), 2);
  CHECK(check(scene.graph, scene.platform, plan).empty());  // shares no code with policies
  CHECK(simulate(scene.problem(), plan).makespan() == 7us);
}

TEST_CASE("it opens as many streams as are asked for, and none is refused") {
  const testing::Scene scene = tasks_of({2, 2, 2, 2, 2, 2});
  CHECK(simulate(scene.problem(), plan_with(scene.problem(), 3)).makespan() == 4us);
  CHECK(simulate(scene.problem(), plan_with(scene.problem(), 1)).makespan() == 12us);
  CHECK_THROWS_AS(plan_with(scene.problem(), 0), InputError);
}

}  // namespace
}  // namespace schedlab
