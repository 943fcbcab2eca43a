// SPDX-License-Identifier: Apache-2.0
#include "tests/policies/longest_first.hpp"

#include "policies/option_specs.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <memory>

// What docs/adding_a_policy.md shows; the test docs.snippets compares the two.
namespace schedlab {
namespace {

using namespace std::chrono_literals;

PolicyInfo longest_first_info() {
  return {.name = "longest_first",
          .summary = "Of the ready tasks the longest, on the stream that is free first.",
          .source = "Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039",
          .options = list_options(),  // max_streams
          .make = [](const Options& options) {
            return std::make_unique<LongestFirst>(count_of(options, "max_streams"));
          }};
}

TEST_CASE("the longest ready task goes to the stream that is free first") {
  // Tasks of 3, 3, 2, 2, 2 us on two streams: 3+2+2 and 3+2, so 7 us, where 6 us (3+3, 2+2+2) would
  // do: the classic example of how far this rule is from the optimum.
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (const int us : {2, 3, 2, 3, 2}) {
    builder.set_duration(builder.add_task(operation), std::chrono::microseconds{us});
  }
  const testing::Scene scene{std::move(builder).build()};
  const Plan plan = LongestFirst{2}.plan(scene.problem());
  CHECK(check(scene.graph, scene.platform, plan).empty());
  CHECK(simulate(scene.problem(), plan).makespan() == 7us);
}

TEST_CASE("the entry of the registry makes the policy with the streams that are asked for") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (int i = 0; i < 6; ++i) builder.set_duration(builder.add_task(operation), 2us);
  const testing::Scene scene{std::move(builder).build()};
  const PolicyInfo info = longest_first_info();
  const auto plan_with = [&](std::int64_t streams) {
    return info.make(resolve_options(info.name, info.options, {{"max_streams", streams}}))
        ->plan(scene.problem());
  };
  // 6 tasks of 2 us on 3 streams, then on one.
  CHECK(simulate(scene.problem(), plan_with(3)).makespan() == 4us);
  CHECK(simulate(scene.problem(), plan_with(1)).makespan() == 12us);
  CHECK_THROWS_AS(plan_with(0), InputError);
}

}  // namespace
}  // namespace schedlab
