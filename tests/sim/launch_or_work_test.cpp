// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/launch_or_work.hpp"

#include "sim/base/rng.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_builder.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::testing::Scene;

namespace {

constexpr LadderOptions tightening{.tightening_work = 10'000'000};

Duration largest_of(const std::vector<BoundWitness>& bounds) {
  Duration most{0};
  for (const BoundWitness& bound : bounds) most = std::max(most, bound.bound);
  return most;
}

/// Of all plans: every order of launches, each task on every stream.
Duration shortest_run(const Problem& problem, std::uint32_t streams) {
  const TaskGraph& graph = problem.graph;
  Duration shortest = Duration::max();
  const std::function<void(const PlanBuilder&, std::size_t)> place = [&](const PlanBuilder& builder,
                                                                         std::size_t placed) {
    if (placed == graph.task_count()) {
      PlanBuilder all = builder;
      shortest = std::min(shortest, simulate(problem, std::move(all).build("any")).makespan());
      return;
    }
    for (const TaskId task : graph.tasks()) {
      const bool ready =
          !builder.placed(task) && std::ranges::all_of(graph.predecessors(task),
                                                       [&](TaskId b) { return builder.placed(b); });
      if (!ready) continue;
      for (std::uint32_t stream = 0; stream < streams; ++stream) {
        PlanBuilder next = builder;
        next.place(task, StreamId{stream});
        place(next, placed + 1);
      }
    }
  };
  PlanBuilder builder{problem};
  builder.add_streams(streams);
  place(builder, 0);
  return shortest;
}

}  // namespace

TEST_CASE("what is not launched before a task is worked after it") {
  // Launches of 3 us, one stream. The chain 0 to 3 is launched by 12 us, its last task takes 10 us,
  // and each of the others 2 us after the start of that, or a launch of 3 us before it: 12 + 10 +
  // 4 * 2. Launches alone show 8 * 3 + 2.
  Scene scene{
      testing::graph_of({1us, 1us, 1us, 10us, 2us, 2us, 2us, 2us}, {{0, 1}, {1, 2}, {2, 3}})};
  scene.platform.hosts[HostId{0}].costs.launch = 3us;
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 1}};
  CHECK(largest(bound_ladder(on)).bound == 26us);
  const BoundWitness shown = largest(bound_ladder(on, tightening));
  CHECK(shown.bound == 30us);
  CHECK(shown.kind == BoundKind::subset);
  CHECK(shown.pivot == TaskId{3});
  CHECK(refuse_witness(on, shown).value_or("") == "");
  PlanBuilder plan{on.problem};
  plan.add_streams(1);
  for (const TaskId task : scene.graph.tasks()) plan.place(task, StreamId{0});
  CHECK(simulate(on.problem, std::move(plan).build("chain first")).makespan() == 30us);

  for (std::uint32_t other = 0; other < 9; ++other) {  // 8: there is no such task
    BoundWitness wrong = shown;
    wrong.pivot = TaskId{other};
    CHECK(refuse_witness(on, wrong).has_value() == (other != 3));
  }
  BoundWitness wrong = shown;
  wrong.pool.resource = BoundResource::host_calls;
  wrong.kind = BoundKind::host_launch;
  CHECK(refuse_witness(on, wrong).has_value());
}

TEST_CASE("launches and work around a task never exclude the best of all plans of small graphs") {
  constexpr std::uint64_t graphs = 30;
  std::uint64_t raised = 0;
  std::uint64_t equal = 0;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    Scene scene{testing::random_dag(seed, 5, 0.35)};
    std::vector<Duration> durations;
    for (int i = 0; i < 5; ++i) durations.emplace_back(std::chrono::microseconds{1 + rng.below(7)});
    scene.costs.set_task_durations(IdVector<TaskId, Duration>{durations});
    scene.platform.hosts[HostId{0}].costs.launch = std::chrono::microseconds{2 + rng.below(3)};
    const std::uint32_t streams = 1 + seed % 2;
    const BoundProblem on{.problem = scene.problem(), .plans = {.streams = streams}};
    const Duration best = shortest_run(scene.problem(), streams);
    for (const BoundWitness& bound : bounds::launch_or_work_bounds(on)) {
      CHECK(bound.bound <= best);
      CHECK(refuse_witness(on, bound).value_or("") == "");
    }
    const Duration shown = largest_of(bounds::launch_or_work_bounds(on));
    if (shown > largest(bound_ladder(on)).bound) ++raised;
    if (shown == best) ++equal;
  }
  MESSAGE("of " << graphs << " graphs " << raised << " bounds are raised, " << equal
                << " are the optimum");
  CHECK(raised > 0);
  CHECK(equal > 0);
}

TEST_CASE("no run of a random machine is shorter than launches and work around a task") {
  std::uint64_t some = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    if (seed % 2 == 0) platform.hosts[HostId{0}].costs.launch = 8us;
    platform.hosts[HostId{0}].front_end_thread = seed % 3 == 0;
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    const auto streams = static_cast<std::uint32_t>(1 + seed % 4);
    const Plan plan = test::random_plan(graph, seed, streams, false);
    const Duration makespan = simulate(problem, plan).makespan();
    const BoundProblem on{.problem = problem, .plans = {.streams = streams}};
    for (const BoundWitness& bound : bounds::launch_or_work_bounds(on)) {
      ++some;
      CHECK(bound.bound <= makespan);
      CHECK(refuse_witness(on, bound).value_or("") == "");
    }
  }
  CHECK(some > 100);
}
