// SPDX-License-Identifier: Apache-2.0
#include "policies/together_dispatch.hpp"

#include "policies/plan_search.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

using namespace schedlab;
using namespace schedlab::literals;
using test::SharingScene;

namespace {

/// Of 128 threads with 128 registers, four to a unit of a V100; one runs at full rate.
Estimate two_blocks() {
  Estimate e = test::grid(2us, 2);
  e.block = {128, 128, 16384};
  return e;
}

/// Of three units.
struct SmallVolta {
  Platform platform;
  TaskGraph graph;
  CostTable costs;

  explicit SmallVolta(TaskGraphBuilder builder) : graph(std::move(builder).build()) {
    SharingScene scene{SharingModel::fluid, 3};
    scene.device().sm_limits = test::volta_limits();
    platform = scene.platform;
    costs = CostTable{graph, platform, test::GivenEstimates{{{"tile", two_blocks()}}}};
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

TaskGraphBuilder tiles(std::uint32_t count) {
  TaskGraphBuilder builder;
  const OperationId tile = builder.add_operation({.name = "tile"});
  for (std::uint32_t i = 0; i < count; ++i) builder.add_task(tile);
  return builder;
}

}  // namespace

TEST_CASE("tasks whose blocks do not fill the units are held until there are enough of them") {
  // Two of two blocks on three units: two blocks on the fullest, 4 us. Three: two on each, 4 us
  // too.
  TaskGraphBuilder builder = tiles(6);
  builder.add_edge(TaskId{0}, TaskId{1});
  const SmallVolta scene{std::move(builder)};
  const Problem problem = scene.problem();
  const Urgency urgency(6, 0);
  const Plan plan = dispatch_together(problem, 8, urgency, 1e-6).build("together");
  CHECK(check(scene.graph, scene.platform, plan).empty());
  // Tasks 0, 2, 3 and then 1, 4, 5: 6 tasks x 2 blocks x 2 us on three units.
  CHECK(simulate(problem, plan).makespan() == 8us);
  CHECK(largest(bound_ladder({.problem = problem})).bound > 8us - 1ns);
  // All that can start: five, four blocks on the fullest unit, 8 us; then task 1 alone.
  const Plan at_once = dispatch_when_idle(problem, 8, urgency).build("at once");
  CHECK(simulate(problem, at_once).makespan() == 10us);

  const PlanRun run = [&problem, trace = Trace{}](const Plan& scored) mutable -> PlanOutcome {
    trace = simulate(problem, scored);
    return {&trace, trace.makespan()};
  };
  const std::vector<ScoredPlan> starts{{at_once, 10us}};
  PlanSearch search{problem, starts, run, {.max_streams = 8}};
  search.advance(1);
  CHECK(search.best().makespan == 8us);
}

TEST_CASE("plans that hold tasks are right on random machines, and at least as long as the bound") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    TaskGraphBuilder builder = tiles(20);
    for (std::uint32_t to = 1; to < 20; ++to) {
      if (rng.below(2) == 0) {
        builder.add_edge(TaskId{static_cast<std::uint32_t>(rng.below(to))}, TaskId{to});
      }
    }
    const SmallVolta scene{std::move(builder)};
    Urgency urgency(20, 0);
    for (std::int64_t& each : urgency) each = static_cast<std::int64_t>(rng.below(100));
    const std::uint32_t streams = 1 + static_cast<std::uint32_t>(rng.below(8));
    for (const double least_gain : {1e-6, -0.05, 0.03}) {
      const Plan plan =
          dispatch_together(scene.problem(), streams, urgency, least_gain).build("together");
      CHECK(check(scene.graph, scene.platform, plan).empty());
      CHECK(simulate(scene.problem(), plan).makespan() >=
            largest(bound_ladder({.problem = scene.problem()})).bound);
    }
  }
}

TEST_CASE("what a plan waits for beyond its graph is part of its placement") {
  const SmallVolta scene{tiles(3)};
  const Problem problem = scene.problem();
  PlanBuilder builder{problem};
  builder.add_streams(2);
  builder.place(TaskId{1}, StreamId{0});
  const TaskId held_by{1};
  builder.place(TaskId{0}, StreamId{1}, std::span{&held_by, 1});
  builder.place(TaskId{2}, StreamId{0});
  const Placement placed = builder.placement();
  const Plan plan = std::move(builder).build("held");
  REQUIRE(placed.extra.size() == 1);
  CHECK(placement_of(problem, plan)->extra == placed.extra);
}
