// SPDX-License-Identifier: Apache-2.0
#include "policies/list_moves.hpp"

#include "sim/engine/simulator.hpp"
#include "sim/graph/levels.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::testing::Scene;

namespace {

struct Schedule {
  ListMoves::Ends ends;
  Duration makespan{0};
};

/// On the ideal machine, so that the run has the times that the list was worked out with.
Schedule inserted(const Problem& problem, std::uint32_t streams, const Urgency& urgency) {
  const Plan plan =
      place_on_earliest_finish(problem, streams, urgency, Insertion::idle_gaps).build("test");
  const Trace trace = simulate(problem, plan);
  Schedule schedule{.ends = ListMoves::Ends(problem.graph.task_count()),
                    .makespan = trace.makespan()};
  for (const TaskSpan& span : trace.tasks) schedule.ends[span.task] = span.ended;
  return schedule;
}

}  // namespace

TEST_CASE("a justified list is never longer, and often shorter") {
  int shorter = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Scene scene{testing::random_dag(seed, 40, 0.06), Rng{seed}};
    const Problem problem = scene.problem();
    const std::uint32_t streams = 2 + static_cast<std::uint32_t>(seed % 3);
    const Schedule first = inserted(problem, streams, Urgency(40, 0));
    const ListMoves moves{problem};
    const Schedule next = inserted(problem, streams, moves.justified(first.ends, streams));
    CHECK(next.makespan <= first.makespan);
    shorter += next.makespan < first.makespan ? 1 : 0;
  }
  CHECK(shorter > 30);
}

TEST_CASE("the best order of a window is found where a rule of urgency misses it") {
  // Two streams, five independent tasks of 3, 3, 2, 2, 2: longest first takes 3 + 2 + 2 = 7, the
  // best order 3 + 3 = 2 + 2 + 2 = 6.
  const Scene scene{testing::graph_of({3us, 3us, 2us, 2us, 2us}, {})};
  const Problem problem = scene.problem();
  const auto longest = urgency_of(upward_rank(scene.graph, scene.costs.durations()));
  const Schedule first = inserted(problem, 2, longest);
  CHECK(first.makespan == 7us);
  const Urgency best = ListMoves{problem}.with_best_window(first.ends, 2, 0, 5);
  CHECK(inserted(problem, 2, best).makespan == 6us);
}

TEST_CASE("a window of all tasks is the shortest of all orders") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Scene scene{testing::random_dag(seed, 6, 0.25), Rng{seed}};
    const Problem problem = scene.problem();
    const Schedule first = inserted(problem, 2, Urgency(6, 0));
    const Urgency best = ListMoves{problem}.with_best_window(first.ends, 2, 0, 6);
    const Duration found = inserted(problem, 2, best).makespan;
    // Every order of urgencies, decoded in the same way.
    std::vector<std::int64_t> order{0, 1, 2, 3, 4, 5};
    Duration shortest = Duration::max();
    do {
      Urgency urgency(6, 0);
      for (std::size_t i = 0; i < order.size(); ++i) {
        urgency[TaskId{static_cast<std::uint32_t>(i)}] = order[i];
      }
      shortest = std::min(shortest, inserted(problem, 2, urgency).makespan);
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(found == shortest);
  }
}
