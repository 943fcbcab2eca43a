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

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::testing::Scene;

namespace {

PlanRun runs(const Problem& problem) {
  return [&problem, trace = Trace{}](const Plan& plan) mutable -> PlanOutcome {
    trace = simulate(problem, plan);
    return {&trace, trace.makespan()};
  };
}

/// The shortest of all plans with up to so many streams: every order of launches, every way to
/// divide the tasks among streams that are alike.
Duration shortest_of_all(const Problem& problem, std::uint32_t streams) {
  const TaskGraph& graph = problem.graph;
  Simulator simulator;
  Trace trace;
  Duration shortest = Duration::max();
  std::vector<std::pair<TaskId, StreamId>> placed;
  IdVector<TaskId, bool> done(graph.task_count(), false);
  const std::function<void(std::uint32_t)> place = [&](std::uint32_t used) {
    if (placed.size() == graph.task_count()) {
      PlanBuilder builder{problem};
      builder.add_streams(streams);
      for (const auto& [task, stream] : placed) builder.place(task, stream);
      simulator.run_into(problem, std::move(builder).build("all"), {}, trace);
      shortest = std::min(shortest, trace.makespan());
      return;
    }
    for (const TaskId task : graph.tasks()) {
      const auto before = graph.predecessors(task);
      const bool ready =
          !done[task] && std::ranges::all_of(before, [&](TaskId b) { return bool{done[b]}; });
      if (!ready) continue;
      done[task] = true;
      for (std::uint32_t stream = 0; stream < std::min(used + 1, streams); ++stream) {
        placed.emplace_back(task, StreamId{stream});
        place(std::max(used, stream + 1));
        placed.pop_back();
      }
      done[task] = false;
    }
  };
  place(0);
  return shortest;
}

/// A task of one or two of the three units of a device.
class WidthCosts final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "width"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    Estimate e;
    e.duration = operation.name == "wide" ? Duration{3'000'000} : Duration{2'000'000};
    e.share = operation.name == "wide" ? 0.6 : 0.3;
    return e;
  }
};

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

TEST_CASE(
    "on shared units the search reaches the shortest of all plans, and no bound is above it") {
  int proven = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    Rng rng{seed * 31 + 7};
    // Six tasks, and once eight of which few are ready at a time.
    const std::uint32_t tasks = seed == 7 ? 8 : 6;
    TaskGraphBuilder tasks_of;
    const OperationId wide = tasks_of.add_operation({.name = "wide"});
    const OperationId narrow = tasks_of.add_operation({.name = "narrow"});
    for (std::uint32_t i = 0; i < tasks; ++i) tasks_of.add_task(rng.below(2) == 0 ? wide : narrow);
    for (std::uint32_t to = 1; to < tasks; ++to) {
      for (std::uint32_t from = 0; from < to; ++from) {
        if (rng.uniform() < (tasks == 8 ? 0.5 : 0.25)) tasks_of.add_edge(TaskId{from}, TaskId{to});
      }
    }
    const TaskGraph graph = std::move(tasks_of).build();
    Platform platform = ideal_platform();
    platform.hosts[HostId{0}].costs = {.launch = 500ns, .record = 100ns, .wait = 100ns};
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", 3}));
    device.stream_gap = 200ns;
    device.event_latency = 300ns;
    const CostTable costs{graph, platform, WidthCosts{}};
    const Problem problem{graph, platform, costs};
    const PlanRun run = runs(problem);
    const auto starts = plans_of_policies(problem, run);
    const Duration bound =
        largest(bound_ladder({.problem = problem},
                             {.energetic_work = 100'000, .tightening_work = 1'000'000}))
            .bound;
    PlanSearch search{problem, starts, run, {.seed = 1, .max_streams = 3, .target = bound}};
    search.advance(6000);
    const Duration shortest = shortest_of_all(problem, 3);
    CHECK(bound <= shortest);
    CHECK(search.best().makespan == shortest);
    proven += bound == shortest ? 1 : 0;
  }
  MESSAGE(proven << " of 8 bounds are reached");
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
