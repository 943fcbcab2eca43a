// SPDX-License-Identifier: Apache-2.0
#include "policies/launch_dispatch.hpp"

#include "policies/plan_search.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::testing::Scene;

namespace {

constexpr std::uint32_t steps = 8;

/// A chain 0, 2, 4, ... and behind each of its tasks a leaf; launches of 2 us, records and waits of
/// 1 us.
Scene comb(Duration duration) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (step > 0) edges.emplace_back(2 * step - 2, 2 * step);
    edges.emplace_back(2 * step, 2 * step + 1);
  }
  Scene scene{testing::graph_of(std::vector<Duration>(2 * steps, duration), edges)};
  HostCosts& costs = scene.platform.hosts[HostId{0}].costs;
  costs.launch = 2us;
  costs.record = costs.wait = 1us;
  return scene;
}

/// The chain first.
Urgency chain_first() {
  Urgency urgency(2 * steps, 0);
  for (std::uint32_t step = 0; step < steps; ++step) urgency[TaskId{2 * step}] = 2 * steps - step;
  return urgency;
}

PlanRun runs(const Problem& problem) {
  return [&problem, trace = Trace{}](const Plan& plan) mutable -> PlanOutcome {
    trace = simulate(problem, plan);
    return {&trace, trace.makespan()};
  };
}

}  // namespace

TEST_CASE("no wait is worth its calls where the device keeps up with the host") {
  // Tasks of 2 us launched 2 us apart: one stream ends at 16 * 2 + 2 us, and no plan earlier.
  const Scene scene = comb(2us);
  const Problem problem = scene.problem();
  const LaunchDispatch dispatch{problem};
  const Plan plan = dispatch.plan(chain_first(), {.streams = 4}).build("launches");
  CHECK(plan.event_count == 0);
  CHECK(simulate(problem, plan).makespan() == 34us);
  CHECK(largest(bound_ladder({.problem = problem})).bound == 34us);
  // Streams that are idle cost calls.
  const Plan idle = dispatch_when_idle(problem, 4, chain_first()).build("idle");
  CHECK(simulate(problem, idle).makespan() > 34us);
}

TEST_CASE("one wait serves several tasks where one stream is too slow") {
  // One stream takes 2 + 16 * 3 us. Launches alone take 32 us, each of 8 leaves with a wait of its
  // own 2 us more.
  const Scene scene = comb(3us);
  const Problem problem = scene.problem();
  const Plan plan =
      LaunchDispatch{problem}.plan(chain_first(), {.streams = 2, .price = 2}).build("launches");
  CHECK(check(scene.graph, scene.platform, plan).empty());
  CHECK(plan.event_count > 0);
  CHECK(plan.event_count <= 3);
  const Duration makespan = simulate(problem, plan).makespan();
  MESSAGE(to_us(makespan) << " us, events " << plan.event_count);
  CHECK(makespan < 50us);
}

TEST_CASE("plans of random graphs and machines are right, whatever the options") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    Urgency urgency(graph.task_count(), 0);
    for (std::int64_t& each : urgency) each = static_cast<std::int64_t>(rng.below(100));
    const LaunchDispatchOptions options{.streams = static_cast<std::uint32_t>(1 + rng.below(9)),
                                        .ahead = static_cast<std::uint32_t>(rng.below(8)),
                                        .price = static_cast<std::uint32_t>(rng.below(8))};
    const Plan plan = LaunchDispatch{problem}.plan(urgency, options).build("launches");
    CHECK(check(graph, platform, plan).empty());
    CHECK(plan.task_count() == graph.task_count());
    CHECK(simulate(problem, plan).makespan() >= largest(bound_ladder({.problem = problem})).bound);
  }
}

TEST_CASE("a search whose host decides finds plans with few waits, the same in one step or many") {
  const Scene scene = comb(3us);
  const Problem problem = scene.problem();
  ScoredPlan start{dispatch_when_idle(problem, 4, chain_first()).build("idle"), {}};
  start.makespan = simulate(problem, start.plan).makespan();
  REQUIRE(waits_for_host(problem, start.makespan));
  CHECK_FALSE(waits_for_host(problem, 81us));  // launches take 32
  CHECK_FALSE(waits_for_host(problem, 31us));  // they are not what is launched
  const Duration bound = largest(bound_ladder({.problem = problem})).bound;
  const auto found = [&](std::uint64_t steps_of) {
    const auto search = make_plan_search(problem, {&start, 1}, runs(problem), {.target = bound});
    for (std::uint64_t done = 0; done < 600; done += steps_of) search->advance(steps_of);
    return search->best();
  };
  const ScoredPlan best = found(600);
  MESSAGE("start " << to_us(start.makespan) << " us, found " << to_us(best.makespan) << ", bound "
                   << to_us(bound));
  CHECK(check(scene.graph, scene.platform, best.plan).empty());
  CHECK(simulate(problem, best.plan).makespan() == best.makespan);
  CHECK(best.makespan < start.makespan);
  CHECK(found(100).makespan == best.makespan);
}
