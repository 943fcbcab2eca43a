// SPDX-License-Identifier: Apache-2.0
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/trace/compare.hpp"
#include "tests/sim/trace_support.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace schedlab {
namespace {

using namespace testing;

/// a -> b, and c that needs nothing: 10, 20 and 30 us alone; b is bound by memory.
struct Three {
  TaskGraph graph;
  Platform platform = ideal_platform();
  CostTable costs;

  class Model final : public CostModel {
   public:
    [[nodiscard]] std::string_view name() const override { return "three"; }
    [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
      return {.duration = operation.fixed_duration,
              .share = 1,
              .bandwidth = {},
              .bound = operation.name == "b" ? Bound::memory : Bound::compute};
    }
  };

  Three() {
    TaskGraphBuilder builder;
    const auto add = [&](const char* name, TaskKind kind, Duration duration) {
      return builder.add_task(
          builder.add_operation({.name = name, .kind = kind, .fixed_duration = duration}));
    };
    const TaskId a = add("a", TaskKind::gemm, 10us);
    const TaskId b = add("b", TaskKind::pointwise, 20us);
    add("c", TaskKind::gemm, 30us);
    builder.add_edge(a, b);
    graph = std::move(builder).build();
    costs = CostTable{graph, platform, Model{}};
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

Trace trace_of(std::vector<TaskSpan> tasks, Duration ended) {
  Trace trace;
  trace.tasks = std::move(tasks);
  trace.ended = at(ended);
  return trace;
}

TraceComparison compare(const Three& three, const Trace& simulated, const Trace& measured) {
  return compare_traces(
      {.problem = three.problem(), .simulated = simulated, .measured = {&measured, 1}});
}

/// The budget with one part only.
void check_only(const ErrorBudget& budget, ErrorPart part, Duration expected) {
  for (std::size_t i = 0; i < error_part_count; ++i) {
    const auto which = static_cast<ErrorPart>(i);
    CAPTURE(to_string(which));
    CHECK(budget.part(which) == (which == part ? expected : 0us));
  }
  CHECK(budget.total == expected);
}

// As simulated: a 0..10, b 10..30 on stream 0.
Trace chain() {
  return trace_of({span(0, 0, 0us, 10us), span(1, 0, 10us, 30us)}, 30us);
}

TEST_CASE("A run that is as simulated has no error and an empty budget") {
  const Three three;
  const TraceComparison same = compare(three, chain(), chain());
  CHECK(same.error == 0);
  CHECK(same.all.tasks == 2);
  CHECK(same.all.duration == ErrorQuantiles{});
  CHECK(same.simulated_busy == 30us);
  check_only(same.budget, ErrorPart::rest, 0us);
}

TEST_CASE("Longer kernels are kernel time, or memory where memory bounds the estimate") {
  const Three three;
  // a takes 12 us instead of 10, b 25 instead of 20: 30 - 37 = -2 - 5.
  const Trace measured = trace_of({span(0, 0, 0us, 12us), span(1, 0, 12us, 37us)}, 37us);
  const TraceComparison compared = compare(three, chain(), measured);
  CHECK(compared.error == doctest::Approx(-7.0 / 37));
  CHECK(compared.budget.part(ErrorPart::kernel_time) == -2us);
  CHECK(compared.budget.part(ErrorPart::memory) == -5us);
  CHECK(compared.budget.total == -7us);
  // Durations: |10 - 12| / 12 and |20 - 25| / 25; starts: 0 and |10 - 12| / 37.
  CHECK(compared.all.duration.p50 == doctest::Approx((2.0 / 12 + 5.0 / 25) / 2));
  CHECK(compared.all.start.p90 == doctest::Approx(0.9 * 2.0 / 37));
  CHECK(compared.all.bias == doctest::Approx(30.0 / 37 - 1));
  REQUIRE(compared.by_kind.size() == 2);
  CHECK(compared.by_kind[0].name == "gemm");
  CHECK(compared.by_kind[1].duration.p50 == doctest::Approx(0.2));
  REQUIRE(compared.by_operation.size() == 2);
  CHECK(compared.by_operation[1].name == "b");
}

TEST_CASE("A task that was submitted late is the host's error, in either run") {
  const Three three;
  const Trace late = trace_of({span(0, 0, 0us, 10us), span(1, 0, 14us, 34us, 14us)}, 34us);
  check_only(compare(three, chain(), late).budget, ErrorPart::host, -4us);
  check_only(compare(three, late, chain()).budget, ErrorPart::host, 4us);
}

TEST_CASE("What the host does after the last task is the host's error") {
  const Three three;
  Trace longer = chain();
  longer.ended = at(33us);
  check_only(compare(three, chain(), longer).budget, ErrorPart::host, -3us);
  check_only(compare(three, longer, chain()).budget, ErrorPart::host, 3us);
}

TEST_CASE("A pause between two tasks that the host did not cause is a gap") {
  Three three;
  const Trace pause = trace_of({span(0, 0, 0us, 10us), span(1, 0, 13us, 33us)}, 33us);
  check_only(compare(three, chain(), pause).budget, ErrorPart::gaps, -3us);
  // Simulated, it is one if the machine has such a gap ...
  three.platform.devices[DeviceId{0}].stream_gap = 3us;
  check_only(compare(three, pause, chain()).budget, ErrorPart::gaps, 3us);
  // ... and without a cause otherwise.
  three.platform.devices[DeviceId{0}].stream_gap = 1us;
  check_only(compare(three, pause, chain()).budget, ErrorPart::rest, 3us);
}

TEST_CASE("What a kernel takes longer beside others than alone is contention") {
  const Three three;
  // Alone b takes 20 us; beside c it took 26 us.
  const std::vector<TaskSpan> beside{
      span(0, 0, 0us, 10us), span(1, 0, 10us, 36us), span(2, 1, 0us, 30us)};
  const Trace measured = trace_of(beside, 36us);
  Trace simulated = chain();
  simulated.tasks.push_back(span(2, 1, 0us, 30us));
  check_only(compare(three, simulated, measured).budget, ErrorPart::contention, -6us);

  // Measured alone it took 22 us: 2 us are the kernel's, which memory bounds.
  const Trace alone = trace_of({span(0, 0, 0us, 10us), span(1, 0, 10us, 32us)}, 32us);
  const auto durations = durations_alone(three.graph, {&alone, 1});
  CHECK(durations.raw() == std::vector<Duration>{10us, 22us, 0us});
  const TraceComparison compared = compare_traces({.problem = three.problem(),
                                                   .simulated = simulated,
                                                   .measured = {&measured, 1},
                                                   .alone = &durations});
  CHECK(compared.budget.part(ErrorPart::memory) == -2us);
  CHECK(compared.budget.part(ErrorPart::contention) == -4us);
}

TEST_CASE("Waiting for units that another task holds is contention") {
  const Three three;
  // b starts when c ends, at 30 us, although a ended at 10; simulated, both run side by side.
  const Trace waits =
      trace_of({span(0, 0, 0us, 10us), span(2, 1, 0us, 30us), span(1, 0, 30us, 50us)}, 50us);
  Trace simulated = chain();
  simulated.tasks.push_back(span(2, 1, 0us, 30us));
  check_only(compare(three, simulated, waits).budget, ErrorPart::contention, -20us);
}

TEST_CASE(
    "A pause beside a kernel that goes on is waiting for the units it gives back bit by bit") {
  const Three three;
  const Trace pause =
      trace_of({span(0, 0, 0us, 10us), span(2, 1, 0us, 30us), span(1, 0, 14us, 34us)}, 34us);
  Trace simulated = chain();
  simulated.tasks.push_back(span(2, 1, 0us, 30us));
  check_only(compare(three, simulated, pause).budget, ErrorPart::contention, -4us);
}

TEST_CASE("Tasks in another order than simulated are rest") {
  const Three three;
  // Measured c follows a in its stream; simulated they ran side by side: 40 - 30 us.
  const Trace follows = trace_of({span(0, 0, 0us, 10us), span(2, 0, 10us, 40us)}, 40us);
  const Trace beside = trace_of({span(0, 0, 0us, 10us), span(2, 1, 0us, 30us)}, 30us);
  check_only(compare(three, beside, follows).budget, ErrorPart::rest, -10us);
}

TEST_CASE("The distance of the compared run from the median is rest, of which noise is a part") {
  const Three three;
  const Trace run = chain();
  const std::vector<Duration> makespans{30us, 34us, 35us};  // median 34 us: predicted -4 us
  const TraceComparison compared = compare_traces({.problem = three.problem(),
                                                   .simulated = chain(),
                                                   .measured = {&run, 1},
                                                   .makespans = makespans,
                                                   .noise_floor = 1us});
  CHECK(compared.measured == 34us);
  CHECK(compared.budget.part(ErrorPart::noise) == -1us);
  CHECK(compared.budget.part(ErrorPart::rest) == -3us);
  CHECK(compared.budget.total == -4us);
}

TEST_CASE("The parts of the budget add up on random graphs, machines and noise") {
  Rng rng{7};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Scene scene(random_dag(seed, 40, 0.1), Rng{seed});
    Device& device = scene.platform.devices[DeviceId{0}];
    device.stream_gap = Duration{static_cast<std::int64_t>(rng.below(2'000'000))};
    device.event_latency = Duration{static_cast<std::int64_t>(rng.below(2'000'000))};
    scene.platform.hosts[HostId{0}].costs.launch =
        Duration{static_cast<std::int64_t>(rng.below(6'000'000))};
    const Problem problem = scene.problem();
    PlanBuilder builder{problem};
    builder.add_streams(4);
    for (const TaskId task : scene.graph.tasks()) {
      builder.place(task, StreamId{static_cast<std::uint32_t>(rng.below(4))});
    }
    const Plan plan = std::move(builder).build("random");
    const SimulationOptions options{.record_hosts = true, .record_flows = true};
    const Trace simulated = simulate(problem, plan, options);

    std::vector<Trace> measured;
    for (int run = 0; run < 3; ++run) {
      IdVector<TaskId, Duration> durations = scene.costs.durations();
      for (Duration& d : durations) d = d * static_cast<std::int64_t>(80 + rng.below(60)) / 100;
      CostTable costs = scene.costs;
      costs.set_task_durations(std::move(durations));
      Platform platform = scene.platform;
      platform.hosts[HostId{0}].costs.launch += 500ns;
      measured.push_back(simulate({scene.graph, platform, costs}, plan, options));
    }
    const TraceComparison compared = compare_traces(
        {.problem = problem, .simulated = simulated, .measured = measured, .noise_floor = 200ns});
    const auto& parts = compared.budget.parts;
    CHECK(std::accumulate(parts.begin(), parts.end(), Duration{0}) == compared.budget.total);
    CHECK(compared.budget.total == compared.predicted - compared.measured);
  }
}

TEST_CASE("The median of an even number of runs lies between the two in the middle") {
  CHECK(median_of({4us, 1us, 2us, 10us}) == 3us);
  CHECK(median_of({4us, 1us, 2us}) == 2us);
}

}  // namespace
}  // namespace schedlab
