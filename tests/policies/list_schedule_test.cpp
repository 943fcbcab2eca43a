// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"

#include "sim/engine/simulator.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::graph_of;
using testing::Scene;

std::vector<std::pair<std::uint32_t, std::uint32_t>> launches(const Plan& plan) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;  // (task, stream)
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) {
      result.emplace_back(call.task().value(), call.stream().value());
    }
  }
  return result;
}

/// Durations 2, 1, 3, 2, 4, 1 us; edges 0->3, 1->4, 2->5, 3->5.
/// Upward ranks: 5: 1, 4: 4, 3: 2+1 = 3, 2: 3+1 = 4, 1: 1+4 = 5, 0: 2+3 = 5.
Scene six_tasks() {
  return Scene{graph_of({2us, 1us, 3us, 2us, 4us, 1us}, {{0, 3}, {1, 4}, {2, 5}, {3, 5}})};
}

using Launches = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST_CASE("bottom_level gives an idle stream the ready task with the longest path") {
  const Scene scene = six_tasks();
  const Plan plan = testing::plan_by("bottom_level", scene.problem(), {{"max_streams", 2}});
  // t = 0: 0 (rank 5, lower id) on stream 0, 1 (rank 5) on stream 1. t = 1: 2 and 4 are ready with
  // rank 4 each: 2 on stream 1 until 4. t = 2: 4 on stream 0 until 6 (rank 4 before rank 3). t = 4:
  // 3 on stream 1 until 6. t = 6: 5 on either; both became idle at 6: stream 0.
  CHECK(launches(plan) == Launches{{0, 0}, {1, 1}, {2, 1}, {4, 0}, {3, 1}, {5, 0}});
  CHECK(simulate(scene.problem(), plan).makespan() == 7us);
}

TEST_CASE("eager_fifo takes tasks as they become ready") {
  const Scene scene = six_tasks();
  const Plan plan = testing::plan_by("eager_fifo", scene.problem(), {{"max_streams", 2}});
  // t = 0: 0 and 1 start. t = 1: 2, ready since 0, on stream 1 until 4. t = 2: 4, ready since 1, on
  // stream 0 until 6. t = 4: 3, ready since 2, on stream 1 until 6. t = 6: 5.
  CHECK(launches(plan) == Launches{{0, 0}, {1, 1}, {2, 1}, {4, 0}, {3, 1}, {5, 0}});
}

TEST_CASE("eager_fifo ignores ranks where bottom_level does not") {
  // Two short tasks before the start of a long chain, by id.
  const Scene scene{graph_of({1us, 1us, 1us, 5us}, {{2, 3}})};
  CHECK(simulate(scene.problem(),
                 testing::plan_by("eager_fifo", scene.problem(), {{"max_streams", 1}}))
            .makespan() == 8us);
  // On two streams: 0 and 1, then 2 (1..2) and 3 (2..7) against 2 (0..1), 3 (1..6), 0 and 1 beside.
  CHECK(simulate(scene.problem(),
                 testing::plan_by("eager_fifo", scene.problem(), {{"max_streams", 2}}))
            .makespan() == 7us);
  CHECK(simulate(scene.problem(),
                 testing::plan_by("bottom_level", scene.problem(), {{"max_streams", 2}}))
            .makespan() == 6us);
}

TEST_CASE("heft places tasks by falling rank where they end first") {
  const Scene scene = six_tasks();
  const Plan plan = testing::plan_by("heft", scene.problem(), {{"max_streams", 2}});
  // Order by rank: 0 (5), 1 (5), 2 (4), 4 (4), 3 (3), 5 (1). 0: stream 0, ends 2. 1: stream 1, ends
  // 1. 2: stream 1, ends 4 (stream 0: 5). 4: stream 0 from 2, ends 6. 3: stream 1 from 4, ends 6.
  // 5: needs 2 (4) and 3 (6): both streams 7, so stream 0.
  CHECK(launches(plan) == Launches{{0, 0}, {1, 1}, {2, 1}, {4, 0}, {3, 1}, {5, 0}});
  CHECK(simulate(scene.problem(), plan).makespan() == 7us);
}

TEST_CASE("peft ranks by what follows, not by the task itself") {
  // 0 (9 us) has no successor, 1 (1 us) is followed by 2 (5 us). Ranks: heft 0: 9, 1: 6; the
  // optimistic cost table gives 0: 0, 1: 5.
  const Scene scene{graph_of({9us, 1us, 5us}, {{1, 2}})};
  CHECK(launches(testing::plan_by("heft", scene.problem(), {{"max_streams", 1}})) ==
        Launches{{0, 0}, {1, 0}, {2, 0}});
  CHECK(launches(testing::plan_by("peft", scene.problem(), {{"max_streams", 1}})) ==
        Launches{{1, 0}, {0, 0}, {2, 0}});
}

TEST_CASE("a dispatched plan runs as it was estimated, and keeps Graham's bound") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Scene scene{testing::random_dag(seed, 60, 0.05), Rng{seed}};
    const IdVector<TaskId, Duration> durations = scene.costs.durations();
    Duration work{0};
    for (const Duration d : durations) work += d;
    const Duration path = critical_path_length(scene.graph, durations);
    for (const std::uint32_t p : {1U, 2U, 4U, 7U}) {
      CAPTURE(seed);
      CAPTURE(p);
      for (const bool random : {false, true}) {
        const Plan plan =
            random
                ? testing::plan_by("random",
                                   scene.problem(),
                                   {{"seed", static_cast<std::int64_t>(seed)}, {"max_streams", p}})
                : testing::plan_by("bottom_level", scene.problem(), {{"max_streams", p}});
        const Duration makespan = simulate(scene.problem(), plan).makespan();
        // Work over p, plus (1 - 1/p) of the longest path: the bound of any greedy schedule.
        CHECK(p * makespan <= work + (p - 1) * path);
      }
      if (p == 1) {
        CHECK(simulate(scene.problem(),
                       testing::plan_by("bottom_level", scene.problem(), {{"max_streams", p}}))
                  .makespan() == work);
      }
    }
  }
}

TEST_CASE("a task whose tensor is taken does not hold a stream") {
  // 0 and 1 add into one tensor; 2 is free. Ranks 5, 4, 3 us.
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  const TensorId sum = builder.add_tensor({.name = "sum", .bytes = 8_B, .accumulate = true});
  for (const Duration d : {Duration{5us}, Duration{4us}, Duration{3us}}) {
    builder.set_duration(builder.add_task(operation), d);
  }
  builder.writes(TaskId{0}, sum);
  builder.writes(TaskId{1}, sum);
  const Scene scene{std::move(builder).build()};
  const Plan plan = testing::plan_by("bottom_level", scene.problem(), {{"max_streams", 2}});
  // 0 on stream 0 (0..5), 2 on stream 1 (0..3) although 1 ranks higher; 1 at 5, on stream 1, idle
  // longer.
  CHECK(launches(plan) == Launches{{0, 0}, {2, 1}, {1, 1}});
  CHECK(simulate(scene.problem(), plan).makespan() == 9us);
  CHECK(check(scene.graph, scene.platform, plan).empty());
}

TEST_CASE("random plans depend on the seed and on nothing else") {
  const Scene scene{testing::random_dag(3, 40, 0.03), Rng{3}};
  CHECK(testing::plan_by("random", scene.problem(), {{"seed", 1}}) ==
        testing::plan_by("random", scene.problem(), {{"seed", 1}}));
  CHECK(testing::plan_by("random", scene.problem(), {{"seed", 1}}) !=
        testing::plan_by("random", scene.problem(), {{"seed", 2}}));
}

}  // namespace
}  // namespace schedlab
