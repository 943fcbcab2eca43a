// SPDX-License-Identifier: Apache-2.0
// HEFT and PEFT against implementations that share no code with them; those against the schedules
// that the papers print.
#include "tests/policies/published_list_schedulers.hpp"

#include "hw_models/fixed.hpp"
#include "hw_models/machine_spec.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/plan_by.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::Scene;
namespace published = testing::published;

/// Tasks as in the papers, from 1.
published::Application from_one(
    std::vector<std::vector<std::int64_t>> cost,
    const std::map<std::pair<std::size_t, std::size_t>, std::int64_t>& edges) {
  published::Application app{std::move(cost), {}};
  for (const auto& [edge, transfer] : edges) {
    app.edges[{edge.first - 1, edge.second - 1}] = transfer;
  }
  return app;
}

/// Figure 2 of HEFT's paper.
published::Application heft_example() {
  return from_one({{14, 16, 9},
                   {13, 19, 18},
                   {11, 13, 19},
                   {13, 8, 17},
                   {12, 13, 10},
                   {13, 16, 9},
                   {7, 15, 11},
                   {5, 11, 14},
                   {18, 12, 20},
                   {21, 7, 16}},
                  {{{1, 2}, 18},
                   {{1, 3}, 12},
                   {{1, 4}, 9},
                   {{1, 5}, 11},
                   {{1, 6}, 14},
                   {{2, 8}, 19},
                   {{2, 9}, 16},
                   {{3, 7}, 23},
                   {{4, 8}, 27},
                   {{4, 9}, 23},
                   {{5, 9}, 13},
                   {{6, 8}, 15},
                   {{7, 10}, 17},
                   {{8, 10}, 11},
                   {{9, 10}, 13}});
}

/// Figure 1 of PEFT's paper.
published::Application peft_example() {
  return from_one({{22, 21, 36},
                   {22, 18, 18},
                   {32, 27, 43},
                   {7, 10, 4},
                   {29, 27, 35},
                   {26, 17, 24},
                   {14, 25, 30},
                   {29, 23, 36},
                   {15, 21, 8},
                   {13, 16, 33}},
                  {{{1, 2}, 17},
                   {{1, 3}, 31},
                   {{1, 4}, 29},
                   {{1, 5}, 13},
                   {{1, 6}, 7},
                   {{2, 8}, 3},
                   {{2, 9}, 30},
                   {{3, 7}, 16},
                   {{4, 8}, 11},
                   {{4, 9}, 7},
                   {{5, 9}, 57},
                   {{6, 8}, 5},
                   {{7, 10}, 9},
                   {{8, 10}, 42},
                   {{9, 10}, 7}});
}

TEST_CASE("the implementations from the papers make the papers' own schedules") {
  // HEFT, table 1: ranks 108, 77, 80, 80, 69, 63.3, 42.7, 35.7, 44.3, 14.7, here times 3; figure 3:
  // schedule length 80.
  const published::Application heft = heft_example();
  CHECK(published::upward_ranks(heft) ==
        std::vector<std::int64_t>{324, 231, 240, 240, 207, 190, 128, 107, 133, 44});
  CHECK(published::makespan(published::heft(heft)) == 80);
  // PEFT, table 1: optimistic costs of task 1 are 64, 68, 86, and its rank is their mean 72.7; the
  // paper's schedules are 122 with PEFT and 133 with HEFT.
  const published::Application peft = peft_example();
  CHECK(published::optimistic_costs(peft)[0] == std::vector<std::int64_t>{64, 68, 86});
  CHECK(published::makespan(published::peft(peft)) == 122);
  CHECK(published::makespan(published::heft(peft)) == 133);
}

/// Every task starts when and where the paper's algorithm says.
void expect_published(const Scene& scene, std::uint32_t processors) {
  const published::Application app =
      published::on_equal_processors(scene.graph, scene.costs.durations(), processors);
  for (const char* name : {"heft", "heft_no_insertion", "peft", "peft_no_insertion"}) {
    CAPTURE(name);
    const auto expected = published::schedule(name, app);
    const Plan plan =
        make_policy(name, {{"max_streams", std::int64_t{processors}}})->plan(scene.problem());
    CHECK(check(scene.graph, scene.platform, plan).empty());
    const Trace trace = simulate(scene.problem(), plan);
    CHECK(trace.makespan().count() == published::makespan(expected));
    for (const TaskSpan& span : trace.tasks) {
      CAPTURE(span.task.value());
      CHECK(span.started == Time{Duration{expected[span.task.value()].start}});
      CHECK(span.stream.value() == expected[span.task.value()].processor);
    }
  }
}

TEST_CASE("heft and peft start every task when and where the papers' algorithms do") {
  for (const published::Application& app : {heft_example(), peft_example()}) {
    std::vector<Duration> durations;  // the first processor's
    for (const auto& row : app.cost) durations.emplace_back(row[0]);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const auto& [edge, transfer] : app.edges) edges.push_back(edge);
    const Scene scene{testing::graph_of(durations, edges)};
    for (const std::uint32_t processors : {1U, 2U, 3U}) expect_published(scene, processors);
  }
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const auto tasks = static_cast<std::uint32_t>(10 + 2 * seed);
    Scene scene{testing::random_dag(seed, tasks, 0.25 / static_cast<double>(1 + seed % 5)),
                Rng{seed}};
    if (seed % 2 == 0) {  // many ties, and every third task takes no time
      IdVector<TaskId, Duration> durations;
      for (const TaskId task : scene.graph.tasks()) {
        durations.push_back(Duration{(task.value() + seed / 2) % 3});
      }
      scene.costs.set_task_durations(std::move(durations));
    }
    for (const std::uint32_t processors : {2U, 3U, 5U}) expect_published(scene, processors);
  }
}

Time start_of(TaskId task, const Trace& trace) {
  const auto found = std::find_if(trace.tasks.begin(),
                                  trace.tasks.end(),
                                  [&](const TaskSpan& span) { return span.task == task; });
  REQUIRE(found != trace.tasks.end());
  return found->started;
}

TEST_CASE("a task goes into a gap before tasks of a higher rank, and the stream takes it first") {
  // 0 (2 us) -> 1 (9 us) on the long path; 2 (4 us) -> 3 (6 us); 4 (2 us) alone. Ranks 11, 9, 10,
  // 6, 2. Order 0, 2, 1, 3, 4. Stream 0: 0 until 2, 1 until 11. Stream 1: 2 until 4, 3 until 10.
  // 4: behind 3 it would end at 12. There is no gap: with and without insertion 12.
  const Scene full{testing::graph_of({2us, 9us, 4us, 6us, 2us}, {{0, 1}, {2, 3}})};
  CHECK(simulate(full.problem(), testing::plan_by("heft", full.problem(), {{"max_streams", 2}}))
            .makespan() == 12us);
  // Now 3 waits for 0 as well, which takes 6 us: stream 1 is idle from 4 to 6, and 4 fits.
  const Scene gap{testing::graph_of({6us, 9us, 4us, 6us, 2us}, {{0, 1}, {0, 3}, {2, 3}})};
  const Plan with = testing::plan_by("heft", gap.problem(), {{"max_streams", 2}});
  CHECK(simulate(gap.problem(), with).makespan() == 15us);
  CHECK(start_of(TaskId{4}, simulate(gap.problem(), with)) == Time{4us});
  const Plan without = testing::plan_by("heft_no_insertion", gap.problem(), {{"max_streams", 2}});
  CHECK(start_of(TaskId{4}, simulate(gap.problem(), without)) == Time{12us});
}

TEST_CASE("inserted tasks keep apart what adds into one tensor") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    TaskGraphBuilder builder;
    const OperationId operation = builder.add_operation({.name = "task"});
    std::vector<TensorId> sums;
    std::vector<std::vector<std::size_t>> writers(3);
    for (int i = 0; i < 3; ++i) {
      sums.push_back(builder.add_tensor({.name = "sum", .bytes = 8_B, .accumulate = true}));
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
      const TaskId task = builder.add_task(operation);
      builder.set_duration(task, Duration{static_cast<std::int64_t>(rng.below(9))});
      if (rng.below(2) == 0) {
        const std::uint64_t sum = rng.below(3);
        builder.writes(task, sums[sum]);
        writers[sum].push_back(i);
      }
      for (std::uint32_t before = 0; before < i; ++before) {
        if (rng.uniform() < 0.06) builder.add_edge(TaskId{before}, task);
      }
    }
    const Scene scene{std::move(builder).build()};
    for (const char* name : {"heft", "peft"}) {
      const Plan plan = make_policy(name)->plan(scene.problem());
      CHECK(check(scene.graph, scene.platform, plan).empty());
      published::Application app =
          published::on_equal_processors(scene.graph, scene.costs.durations(), 4);
      app.apart = writers;
      CHECK(simulate(scene.problem(), plan).makespan().count() ==
            published::makespan(published::schedule(name, app)));
    }
  }
}

TEST_CASE("processors runs as many tasks at once as it has units, each as long as alone") {
  for (const std::uint32_t count : {1U, 2U, 5U}) {
    CAPTURE(count);
    MachineSpec machine = load_machine("processors");
    apply_overrides(machine, {{"units", std::int64_t{count}}});
    const Scene scene{testing::random_dag(4, 60, 0.04), Rng{4}};
    CostTable costs{scene.graph, machine.platform, FixedCost{}};
    costs.set_task_durations(scene.costs.durations());
    const Problem problem{scene.graph, machine.platform, costs};
    // As many streams as processors: nothing waits for a unit.
    const Plan plan = testing::plan_by("heft", problem, {{"max_streams", count}});
    CHECK(simulate(problem, plan).makespan() ==
          simulate(scene.problem(),
                   testing::plan_by("heft", scene.problem(), {{"max_streams", count}}))
              .makespan());
    // More streams than processors: units are the limit.
    const Trace crowded =
        simulate(problem, testing::plan_by("heft", problem, {{"max_streams", 16}}));
    for (const TaskSpan& span : crowded.tasks) {
      const auto running =
          std::count_if(crowded.tasks.begin(), crowded.tasks.end(), [&](const TaskSpan& other) {
            return other.started <= span.started && span.started < other.ended;
          });
      CHECK(running <= count);
    }
  }
}

}  // namespace
}  // namespace schedlab
