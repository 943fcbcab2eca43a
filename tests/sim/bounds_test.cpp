// SPDX-License-Identifier: Apache-2.0
#include "sim/base/rng.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/launch/launch.hpp"
#include "sim/plan/plan_builder.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

using namespace schedlab;
using namespace schedlab::literals;
using schedlab::testing::Scene;

namespace {

constexpr LadderOptions with_windows{
    .energetic_work = 100'000, .tightening_work = 10'000'000, .refutation_work = 3'000'000};

BoundWitness of_kind(const std::vector<BoundWitness>& ladder, BoundKind kind) {
  for (const BoundWitness& witness : ladder) {
    if (witness.kind == kind) return witness;
  }
  return {.kind = kind};
}

/// Kernels of all sorts on one device with two classes of units, or on none.
struct AnyScene {
  Platform platform;
  TaskGraph graph;
  std::map<std::string, Estimate> estimates;
  CostTable costs;

  AnyScene(std::uint64_t seed, SharingModel sharing, std::uint32_t tasks = 40)
      : platform(test::random_platform(seed)) {
    Rng rng{seed * 977 + 5};
    platform.sharing = sharing;
    Device& device = platform.devices[DeviceId{0}];
    device.graph_node_gap = Duration{static_cast<std::int64_t>(rng.below(2'000'000))};
    platform.hosts[HostId{0}].costs.graph_launch = 1us;
    platform.hosts[HostId{0}].costs.graph_launch_node = 100ns;
    const auto units = [&] { return static_cast<std::uint32_t>(1 + rng.below(7)); };
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", units()}));
    const UnitClassId other = device.unit_classes.push_back({"vector", units()});
    device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = other;
    device.unit_class_of[static_cast<std::size_t>(TaskKind::reduction)] = UnitClassId::none();
    if (rng.below(2) == 0) device.sm_limits = test::volta_limits();
    if (rng.below(3) != 0) device.rates.memory = 100_GB_per_s;
    if (rng.below(3) == 0) device.co_residency_factor = 0.85;
    make_graph(rng, tasks);
    costs = CostTable{graph, platform, test::GivenEstimates{estimates}};
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }

 private:
  void make_graph(Rng& rng, std::uint32_t tasks) {
    constexpr std::uint32_t operation_count = 10;
    constexpr std::array kinds{TaskKind::gemm, TaskKind::pointwise, TaskKind::reduction};
    TaskGraphBuilder builder;
    for (std::uint32_t i = 0; i < operation_count; ++i) {
      const std::string name = "k" + std::to_string(i);
      Estimate e = test::grid(Duration{static_cast<std::int64_t>(1 + rng.below(30'000'000))},
                              static_cast<std::uint32_t>(1 + rng.below(40)),
                              static_cast<std::uint32_t>(1 + rng.below(4)));
      e.share = 0.05 + 0.95 * rng.uniform();
      e.compute_share = static_cast<float>(rng.uniform());
      e.bandwidth = Bandwidth{rng.uniform() * 150e9};
      if (rng.below(2) == 0) {
        e.block = {static_cast<std::uint16_t>(32 + rng.below(400)), 0, 0};
      }
      estimates[name] = e;
      builder.add_operation({.name = name, .kind = kinds.at(rng.below(kinds.size()))});
    }
    for (std::uint32_t i = 0; i < tasks; ++i) {
      builder.add_task(OperationId{static_cast<std::uint32_t>(rng.below(operation_count))});
    }
    for (std::uint32_t to = 1; to < tasks; ++to) {
      if (rng.below(3) == 0) continue;
      builder.add_edge(TaskId{static_cast<std::uint32_t>(rng.below(to))}, TaskId{to});
    }
    graph = std::move(builder).build();
  }
};

/// Every bound of the ladder is verified, and none is above the makespan.
double check_ladder(const BoundProblem& on, Duration makespan) {
  const auto ladder = bound_ladder(on, with_windows);
  for (const BoundWitness& witness : ladder) {
    CAPTURE(to_string(witness.kind));
    CAPTURE(to_string(witness.pool.resource));
    CHECK(refuse_witness(on, witness).value_or("") == "");
    CHECK(witness.bound <= makespan);
  }
  return to_us(makespan) / to_us(largest(ladder).bound);
}

/// The shortest of all schedules in which each stream takes tasks in some order: every order of
/// tasks, each on every stream.
Duration shortest_plan(const Problem& problem, std::uint32_t streams) {
  const TaskGraph& graph = problem.graph;
  Duration shortest = Duration::max();
  std::vector<Duration> free(streams, Duration{0});
  IdVector<TaskId, Duration> end(graph.task_count(), Duration{-1});
  const std::function<void(std::size_t, Duration)> place = [&](std::size_t placed, Duration last) {
    if (last >= shortest) return;
    if (placed == graph.task_count()) {
      shortest = last;
      return;
    }
    for (const TaskId task : graph.tasks()) {
      const auto before = graph.predecessors(task);
      const bool ready = end[task] < Duration{0} && std::ranges::all_of(before, [&](TaskId b) {
                           return end[b] >= Duration{0};
                         });
      if (!ready) continue;
      for (std::uint32_t stream = 0; stream < streams; ++stream) {
        if (stream > 0 && free[stream] == free[stream - 1]) continue;
        const Duration was = free[stream];
        Duration start = was;
        for (const TaskId b : before) start = std::max(start, end[b]);
        end[task] = free[stream] = start + problem.costs.duration(task);
        place(placed + 1, std::max(last, end[task]));
        free[stream] = was;
        end[task] = Duration{-1};
      }
    }
  };
  place(0, Duration{0});
  return shortest;
}

}  // namespace

TEST_CASE("a chain is bounded by its launch, its durations and the delays between its tasks") {
  Scene scene{testing::graph_of({3us, 4us, 5us, 1us}, {{0, 1}, {1, 2}})};
  scene.platform.hosts[HostId{0}].costs.launch = 2us;
  Device& device = scene.platform.devices[DeviceId{0}];
  device.launch_latency = 1us;
  device.stream_gap = 700ns;
  device.event_latency = 500ns;
  const BoundProblem on{.problem = scene.problem()};
  const auto path = of_kind(bound_ladder(on), BoundKind::latency_path);
  CHECK(path.bound == 2us + 1us + 3us + 500ns + 4us + 500ns + 5us);
  CHECK(path.path == std::vector{TaskId{0}, TaskId{1}, TaskId{2}});
}

TEST_CASE("launches bound a host: the last of them still has its task before it") {
  // Eight tasks of 1 us, launched 3 us apart.
  Scene scene{testing::graph_of(std::vector<Duration>(8, 1us), {})};
  scene.platform.hosts[HostId{0}].costs.launch = 3us;
  const BoundProblem on{.problem = scene.problem()};
  const auto calls = of_kind(bound_ladder(on), BoundKind::host_launch);
  CHECK(calls.bound == 8 * 3us + 1us);
  // As nodes of a device graph they cost 1 us each.
  scene.platform.hosts[HostId{0}].costs.graph_launch_node = 1us;
  const BoundProblem graphs{.problem = scene.problem(), .plans = {.device_graphs = true}};
  CHECK(of_kind(bound_ladder(graphs), BoundKind::host_launch).bound == 8 * 1us + 1us);
}

TEST_CASE("tasks with heads and tails share streams only between the two") {
  // One task before and one after nine of 2 us on two streams: 1 + ceil(18 / 2) + 1, of which work
  // alone sees ceil(20 / 2).
  std::vector<Duration> durations{1us};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t i = 1; i <= 9; ++i) {
    durations.push_back(2us);
    edges.emplace_back(0, i);
    edges.emplace_back(i, 10);
  }
  durations.push_back(1us);
  const Scene scene{testing::graph_of(durations, edges)};
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
  const auto subset = of_kind(bound_ladder(on), BoundKind::subset);
  CHECK(subset.bound == 11us);
  CHECK(subset.pool.resource == BoundResource::streams);
  CHECK(subset.head == 1us);
  CHECK(subset.tail == 1us);
}

TEST_CASE("a window that must take more than there is excludes a deadline") {
  // Two streams. A chain of 10 us keeps one busy; of the others, between 4 and 6, three tasks of 2
  // us each must run, behind and before chains of 4 us: the subset bound counts 4 + 8/2 + 4, as
  // the chain is not within the window. With the 2 us of the chain there, 4 + 8 / 2 + 4 = 12.
  const Scene scene{testing::graph_of({10us, 4us, 2us, 2us, 2us, 4us},
                                      {{1, 2}, {1, 3}, {1, 4}, {2, 5}, {3, 5}, {4, 5}})};
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
  const auto ladder = bound_ladder(on, with_windows);
  const Duration subset = of_kind(ladder, BoundKind::subset).bound;
  const BoundWitness window = of_kind(ladder, BoundKind::energetic);
  CHECK(subset == 12us);  // all work: 24 us on two streams
  CHECK(shortest_plan(scene.problem(), 2) >= std::max(subset, window.bound));
  CHECK(refuse_witness(on, window).has_value() == (window.bound == Duration{0}));
}

TEST_CASE("a copy engine bounds the copies between their heads and tails") {
  // Four copies to the device of 5 us on one engine, each before a kernel of 2 us on any of many
  // units: 4 * 5 + 2.
  TaskGraphBuilder builder;
  const OperationId copy =
      builder.add_operation({.name = "copy", .kind = TaskKind::copy_host_to_device});
  const OperationId kernel = builder.add_operation({.name = "kernel", .kind = TaskKind::gemm});
  for (std::uint32_t i = 0; i < 4; ++i) {
    const TaskId first = builder.add_task(copy);
    builder.add_edge(first, builder.add_task(kernel));
  }
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({"sm", 100}));
  const UnitClassId engine = device.unit_classes.push_back({"copy engine", 1});
  device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_host_to_device)] = engine;
  const std::map<std::string, Estimate> estimates{{"copy", test::grid(5us, 1, 1)},
                                                  {"kernel", test::grid(2us, 1, 1)}};
  const CostTable costs{graph, platform, test::GivenEstimates{estimates}};
  const BoundProblem on{.problem = {graph, platform, costs}};
  const auto ladder = bound_ladder(on);
  CHECK(largest(ladder).bound == 22us);
  CHECK(largest(ladder).pool.unit_class == engine);
  CHECK(refuse_witness(on, largest(ladder)).value_or("") == "");
  PlanBuilder plan{on.problem};
  plan.add_streams(4);
  for (const TaskId task : graph.tasks()) plan.place(task, StreamId{task.value() / 2});
  CHECK(simulate(on.problem, std::move(plan).build("copies")).makespan() == 22us);
}

TEST_CASE("starts that launches decide are not rounded to a step of which launches are no part") {
  // A launch of 0.7 us and a latency of 0.3: the first task starts at 1 us, the second at 1.7, and
  // all durations are whole. On one stream and unit they end at 1.7 + 5 us at the earliest.
  Scene scene{testing::graph_of({1us, 5us}, {})};
  scene.platform.hosts[HostId{0}].costs.launch = 700ns;
  scene.platform.devices[DeviceId{0}].launch_latency = 300ns;
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
  CHECK(time_step(on) == 100ns);
  CHECK(largest(bound_ladder(on, with_windows)).bound == 6us);
}

TEST_CASE("what all tasks before a task take raises its start") {
  // Two streams, two layers of three tasks of 2 us, each layer after all of the last. Three tasks
  // on two streams take 4 us, in steps of 2 us, so that the second layer ends at 8 us; paths and
  // work alone show 6.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (std::uint32_t to = 3; to < 6; ++to) edges.emplace_back(from, to);
  }
  const Scene scene{testing::graph_of(std::vector<Duration>(6, 2us), edges)};
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
  CHECK(of_kind(bound_ladder(on), BoundKind::subset).bound == 6us);
  const BoundWitness raised = of_kind(bound_ladder(on, with_windows), BoundKind::subset);
  CHECK(raised.bound == 8us);
  CHECK(shortest_plan(scene.problem(), 2) == 8us);
  REQUIRE(!raised.heads.empty());
  CHECK(refuse_witness(on, raised).value_or("") == "");
  BoundWitness wrong = raised;
  for (Tightening& claim : wrong.heads) claim.head = 4us;  // no task before starts so late
  CHECK(refuse_witness(on, wrong).has_value());
  wrong = raised;
  wrong.heads.clear();
  wrong.tails.clear();
  CHECK(refuse_witness(on, wrong).has_value());
  wrong.heads = {{.task = TaskId{6}, .pool = 0}};
  CHECK(refuse_witness(on, wrong).has_value());
}

TEST_CASE("calls made before a task raise its start") {
  // Task 4 starts after one launch and the longest task before it, at 3 + 8 us, after the four
  // launches before it and the shortest task, at 12 + 1 us, and after all five at 15 us.
  Scene scene{
      testing::graph_of({1us, 1us, 1us, 8us, 1us, 10us}, {{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 5}})};
  scene.platform.hosts[HostId{0}].costs.launch = 3us;
  const BoundProblem on{.problem = scene.problem()};
  const auto through = of_kind(bound_ladder(on, with_windows), BoundKind::subset);
  // Task 5 starts once all six are launched, at 18 us.
  CHECK(through.bound == std::max(15us + 1us, 18us) + 10us);
  CHECK(refuse_witness(on, through).value_or("") == "");
}

TEST_CASE("no run of any sharing model is shorter than its bounds, and every witness is verified") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    double closest = 1e9;
    double mean = 0;
    constexpr std::uint64_t seeds = 150;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      CAPTURE(seed);
      const AnyScene scene{seed, sharing};
      const Plan plan = test::random_plan(
          scene.graph, seed, static_cast<std::uint32_t>(1 + seed % 7), seed % 2 == 0);
      const Duration makespan = simulate(scene.problem(), plan).makespan();
      const BoundProblem on{.problem = scene.problem()};
      const double gap = check_ladder(on, makespan);
      closest = std::min(closest, gap);
      mean += gap / seeds;
      BoundProblem limited = on;
      limited.plans.streams = static_cast<std::uint32_t>(plan.streams.size());
      check_ladder(limited, makespan);
    }
    MESSAGE(to_string(sharing) << ": makespans over their bounds, closest " << closest << ", mean "
                               << mean);
    CHECK(closest < 1.05);
  }
}

TEST_CASE("bounds of plans with device graphs hold for captured plans") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const AnyScene scene{seed, seed % 2 == 0 ? SharingModel::fluid : SharingModel::exclusive};
    Plan plan =
        test::random_plan(scene.graph, seed, static_cast<std::uint32_t>(1 + seed % 5), false);
    plan = launched_plan(
        std::move(plan), {.mode = LaunchMode::graph_launch}, scene.graph.task_count());
    const Duration makespan = simulate(scene.problem(), plan).makespan();
    check_ladder({.problem = scene.problem(), .plans = {.device_graphs = true}}, makespan);
  }
}

TEST_CASE("no bound is above the best of all plans of small graphs; most reach it") {
  int equal = 0;
  constexpr int graphs = 120;
  for (int seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    const auto number = static_cast<std::uint64_t>(seed);
    Rng rng{number};
    std::vector<Duration> durations;
    const auto tasks = static_cast<std::uint32_t>(4 + rng.below(4));
    for (std::uint32_t i = 0; i < tasks; ++i) {
      durations.emplace_back(std::chrono::microseconds{1 + rng.below(6)});
    }
    Scene scene{testing::random_dag(number, tasks, 0.3)};
    scene.costs.set_task_durations(IdVector<TaskId, Duration>{durations});
    const auto streams = static_cast<std::uint32_t>(2 + rng.below(2));
    const Duration best = shortest_plan(scene.problem(), streams);
    const BoundProblem on{.problem = scene.problem(), .plans = {.streams = streams}};
    const Duration bound = largest(bound_ladder(on, with_windows)).bound;
    CHECK(bound <= best);
    if (bound == best) ++equal;
  }
  MESSAGE(equal << " of " << graphs << " bounds are reached");
  CHECK(equal >= 118);
}

TEST_CASE("deductions show what windows alone do not, and never exclude a schedule that is there") {
  // Bounds rise to the optimum, and no change of a proof excludes that.
  Rng rng{11};
  int raised = 0;
  constexpr std::uint64_t seeds = 300;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    std::vector<Duration> durations;
    constexpr std::uint32_t tasks = 7;
    for (std::uint32_t i = 0; i < tasks; ++i) {
      durations.emplace_back(std::chrono::microseconds{1 + rng.below(6)});
    }
    Scene scene{testing::random_dag(seed, tasks, 0.3)};
    scene.costs.set_task_durations(IdVector<TaskId, Duration>{durations});
    const Duration best = shortest_plan(scene.problem(), 2);
    const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
    const BoundWitness shown = of_kind(bound_ladder(on, with_windows), BoundKind::energetic);
    if (shown.deductions.empty()) continue;
    ++raised;
    CHECK(refuse_witness(on, shown).value_or("") == "");
    CHECK(shown.bound <= best);
    for (int change = 0; change < 40; ++change) {
      BoundWitness wrong = shown;
      wrong.deadline = best;
      wrong.bound = best + 1us;
      for (std::uint64_t i = rng.below(3); i > 0; --i) {
        Deduction& step = wrong.deductions[rng.below(wrong.deductions.size())];
        switch (rng.below(5)) {
          case 0:
            step.task = TaskId{static_cast<std::uint32_t>(rng.below(tasks))};
            break;
          case 1:
            step.late = !step.late;
            break;
          case 2:
            step.time += std::chrono::microseconds{rng.below(5)};
            break;
          case 3:
            step.begin += std::chrono::microseconds{rng.below(3)};
            break;
          default:
            step.end -= std::chrono::microseconds{rng.below(3)};
        }
      }
      CHECK(refuse_witness(on, wrong).has_value());
    }
  }
  MESSAGE(raised << " of " << seeds << " bounds need deductions");
  CHECK(raised >= 10);
}

TEST_CASE("a ladder that is told that it is enough excludes no more deadlines") {
  Scene scene{testing::random_dag(5, 12, 0.2), Rng{5}};
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
  int asked = 0;
  const std::function<bool()> enough = [&] { return ++asked > 0; };
  LadderOptions options = with_windows;
  options.enough = &enough;
  const auto cut_short = bound_ladder(on, options);
  CHECK(asked == 1);
  options = with_windows;
  options.refutation_work = 0;
  CHECK(cut_short == bound_ladder(on, options));
}

TEST_CASE("a witness that says something else is refused") {
  Rng rng{7};
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto sharing = static_cast<SharingModel>(seed % 3);
    const AnyScene scene{seed, sharing};
    const BoundProblem on{.problem = scene.problem(),
                          .plans = {.streams = seed % 2 == 0 ? 3U : 0U}};
    for (const BoundWitness& witness : bound_ladder(on, with_windows)) {
      for (Duration BoundWitness::*member : {&BoundWitness::bound,
                                             &BoundWitness::head,
                                             &BoundWitness::tail,
                                             &BoundWitness::deadline}) {
        BoundWitness wrong = witness;
        wrong.*member += Duration{static_cast<std::int64_t>(1 + rng.below(20'000'000))};
        const bool unused = refuse_witness(on, wrong) == std::nullopt;
        // What its kind does not use may change; a claim that passes is never above the truth.
        if (unused) CHECK(wrong.bound == witness.bound);
        refused += unused ? 0 : 1;
      }
      for (const bool head : {true, false}) {
        BoundWitness other = witness;
        auto& claims = head ? other.heads : other.tails;
        if (claims.empty()) continue;
        Tightening& claim = claims[rng.below(claims.size())];
        switch (rng.below(4)) {
          case 0:
            claim.task = TaskId{static_cast<std::uint32_t>(rng.below(60))};
            break;
          case 1:
            claim.pool = static_cast<std::uint32_t>(rng.below(8));
            break;
          case 2:
            claim.head += Duration{static_cast<std::int64_t>(rng.below(20'000'000))};
            break;
          default:
            claim.tail += Duration{static_cast<std::int64_t>(rng.below(20'000'000))};
        }
        // It may not matter; but never does a wrong claim show more than the right ones.
        other.bound += Duration{1};
        CHECK(refuse_witness(on, other).has_value());
      }
      BoundWitness wrong = witness;
      wrong.bound += Duration{1};
      CHECK(refuse_witness(on, wrong).has_value());
      if (witness.kind == BoundKind::energetic) {
        wrong.deductions.at(rng.below(wrong.deductions.size())).pool += 100;
        CHECK(refuse_witness(on, wrong).has_value());
        wrong.deductions.clear();
        CHECK(refuse_witness(on, wrong).has_value());
      } else if (!wrong.path.empty()) {
        wrong = witness;
        wrong.path.push_back(TaskId{static_cast<std::uint32_t>(scene.graph.task_count())});
        CHECK(refuse_witness(on, wrong).has_value());
        wrong = witness;
        wrong.path.push_back(wrong.path.front());
        CHECK(refuse_witness(on, wrong).has_value());
        wrong.path.clear();
        CHECK(refuse_witness(on, wrong).has_value());
      } else {
        wrong = witness;
        ++wrong.pool.capacity;
        CHECK(refuse_witness(on, wrong).has_value());
        wrong.pool.capacity = 0;
        CHECK(refuse_witness(on, wrong).has_value());
      }
    }
  }
  CHECK(refused > 200);
}

TEST_CASE("of very many tails the best is found as well") {
  // 20,000 tasks of 1 us on two streams behind a chain of 100 us.
  std::vector<Duration> durations(20'001, 1us);
  durations[0] = 100us;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t i = 1; i < durations.size(); ++i) {
    durations[i] = Duration{1'000'000 + i};
    edges.emplace_back(0, i);
    if (i > 10'000) edges.emplace_back(i - 10'000, i);
  }
  const Scene scene{testing::graph_of(durations, edges)};
  const BoundProblem on{.problem = scene.problem(), .plans = {.streams = 2}};
  std::int64_t work = 0;
  for (std::size_t i = 1; i < durations.size(); ++i) work += durations[i].count();
  const auto subset = of_kind(bound_ladder(on), BoundKind::subset);
  CHECK(subset.bound >= 100us + Duration{work / 2});
  CHECK(refuse_witness(on, subset).value_or("") == "");
}
