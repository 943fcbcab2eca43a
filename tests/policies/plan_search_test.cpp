// SPDX-License-Identifier: Apache-2.0
#include "policies/plan_search.hpp"

#include "policies/registry.hpp"
#include "policies/search.hpp"
#include "sim/base/rng.hpp"
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

PlanRun runs(const Problem& problem) {
  return [&problem, trace = Trace{}](const Plan& plan) mutable -> const Trace& {
    trace = simulate(problem, plan);
    return trace;
  };
}

/// A host, gaps and latencies.
Scene busy_scene(std::uint64_t seed, std::uint32_t tasks) {
  Scene scene{testing::random_dag(seed, tasks, 3.0 / tasks), Rng{seed}};
  scene.platform.hosts[HostId{0}].costs = {.launch = 2us, .record = 300ns, .wait = 300ns};
  Device& device = scene.platform.devices[DeviceId{0}];
  device.launch_latency = 1us;
  device.stream_gap = 500ns;
  device.event_latency = 1us;
  return scene;
}

}  // namespace

TEST_CASE("a search is never worse than what it begins with, and its plans are right") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    const Scene scene = busy_scene(seed, 40);
    const Problem problem = scene.problem();
    const PlanRun run = runs(problem);
    const auto starts = plans_of_policies(problem, run);
    PlanSearch search{problem, starts, run, {.seed = seed, .max_streams = 8}};
    search.advance(400);
    CHECK(search.best().makespan <= starts.front().makespan);
    CHECK(simulate(problem, search.best().plan).makespan() == search.best().makespan);
    CHECK(check(scene.graph, scene.platform, search.best().plan).empty());
    CHECK(search.best().makespan >= largest(bound_ladder({.problem = problem})).bound);
  }
}

TEST_CASE("the same seed and number of evaluations give the same plan, in one step or many") {
  const Scene scene = busy_scene(3, 60);
  const Problem problem = scene.problem();
  const PlanRun run = runs(problem);
  const auto starts = plans_of_policies(problem, run);
  PlanSearch once{problem, starts, run, {.seed = 5}};
  PlanSearch steps{problem, starts, run, {.seed = 5}};
  once.advance(600);
  for (int i = 0; i < 6; ++i) steps.advance(100);
  CHECK(once.best().plan == steps.best().plan);
  CHECK(once.best().makespan < starts.front().makespan);
}

TEST_CASE("a search reaches the optimum that a plan was made for") {
  // Three streams are full for 60 us: cut at random, each stream a chain of independent tasks.
  Rng rng{11};
  std::vector<Duration> durations;
  constexpr int pieces = 8;
  for (int stream = 0; stream < 3; ++stream) {
    Duration left = 60us;
    for (int i = 1; i < pieces; ++i) {
      const Duration piece = std::chrono::microseconds{1 + rng.below(9)};
      durations.push_back(piece);
      left -= piece;
    }
    durations.push_back(left);
  }
  const Scene scene{testing::graph_of(durations, {})};
  const Problem problem = scene.problem();
  const PlanRun run = runs(problem);
  const std::vector<ScoredPlan> start{
      {make_policy("single_stream")->plan(problem),
       simulate(problem, make_policy("single_stream")->plan(problem)).makespan()}};
  PlanSearch search{problem, start, run, {.seed = 1, .max_streams = 3, .target = 60us}};
  search.advance(20'000);
  CHECK(search.reached());
  CHECK(search.best().makespan == 60us);
}

TEST_CASE("an offered plan is gone on from if it is better") {
  const Scene scene = busy_scene(9, 30);
  const Problem problem = scene.problem();
  const PlanRun run = runs(problem);
  const auto starts = plans_of_policies(problem, run);
  PlanSearch search{problem, {&starts.back(), 1}, run, {.seed = 2}};
  search.offer(starts.front());
  CHECK(search.best().makespan == starts.front().makespan);
  search.offer(starts.back());
  CHECK(search.best().makespan == starts.front().makespan);
}

TEST_CASE("policy search is no worse than the others") {
  const Scene scene = busy_scene(4, 30);
  const Problem problem = scene.problem();
  const Plan plan = make_policy("search", {{"evaluations", std::int64_t{300}}})->plan(problem);
  CHECK(plan.policy == "search");
  for (const char* other : {"heft", "bottom_level", "single_stream"}) {
    CHECK(simulate(problem, plan).makespan() <=
          simulate(problem, make_policy(other)->plan(problem)).makespan());
  }
}
