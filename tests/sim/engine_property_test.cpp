// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "sim/graph/levels.hpp"
#include "tests/support/random_plan.hpp"

#include <algorithm>

using namespace schedlab;

namespace {

constexpr std::uint64_t seeds = 300;

/// Every dependency kept, and no two tasks of one stream at once: recomputed from the trace alone.
void check_trace(const TaskGraph& graph, const Trace& trace) {
  REQUIRE(trace.tasks.size() == graph.task_count());
  IdVector<TaskId, TaskSpan> span_of(graph.task_count());
  for (const TaskSpan& span : trace.tasks) span_of[span.task] = span;
  for (const TaskId task : graph.tasks()) {
    for (const TaskId before : graph.predecessors(task)) {
      CHECK(span_of[before].ended <= span_of[task].started);
    }
  }
  for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
    for (std::size_t j = i + 1; j < trace.tasks.size(); ++j) {
      if (trace.tasks[i].stream != trace.tasks[j].stream) continue;
      CHECK(trace.tasks[i].ended <= trace.tasks[j].started);
    }
  }
}

}  // namespace

TEST_CASE("the in-order sweep and the event engine agree to the picosecond on every random plan") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    const Plan plan =
        test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 9), true);
    const Problem problem{graph, platform, costs};
    SimulationOptions options{.record_hosts = true, .record_flows = true};
    options.engine = EngineKind::event;
    const Trace by_events = simulate(problem, plan, options);
    options.engine = EngineKind::in_order;
    const Trace by_sweep = simulate(problem, plan, options);
    CHECK(by_events.makespan() == by_sweep.makespan());
    CHECK(by_events.tasks == by_sweep.tasks);
    CHECK(by_events.hosts == by_sweep.hosts);
    CHECK(by_events.flows == by_sweep.flows);
    check_trace(graph, by_events);
  }
}

TEST_CASE("with one stream the in-order sweep agrees with the event engine on limited units, too") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"unit", 1}));
    device.resident_kernels = 1 + static_cast<std::uint32_t>(seed % 2);
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    const Plan plan = test::random_plan(graph, seed, 1, true);
    REQUIRE(in_order_applies(problem, plan));
    SimulationOptions options{.record_hosts = true, .record_flows = true};
    options.engine = EngineKind::event;
    const Trace by_events = simulate(problem, plan, options);
    options.engine = EngineKind::in_order;
    CHECK(simulate(problem, plan, options) == by_events);

    const Plan two = test::random_plan(graph, seed, 2, true);
    CHECK(!in_order_applies(problem, two));  // two kernels may meet
  }
}

TEST_CASE("on limited units the run keeps every dependency, the capacity and the bounds") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    Device& device = platform.devices[DeviceId{0}];
    const std::uint32_t units = 1 + static_cast<std::uint32_t>(seed % 3);
    const UnitClassId unit_class = device.unit_classes.push_back({"unit", units});
    device.unit_class_of.fill(unit_class);
    // Every task can use the share that makes it one unit.
    class OneUnit final : public CostModel {
     public:
      explicit OneUnit(double share) : share_(share) {}
      [[nodiscard]] std::string_view name() const override { return "one_unit"; }
      [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
        return {.duration = operation.fixed_duration, .share = share_};
      }

     private:
      double share_;
    };
    const CostTable costs{graph, platform, OneUnit{1.0 / units}};
    const Plan plan = test::random_plan(graph, seed, 6, true);
    const Trace trace = simulate({graph, platform, costs}, plan);
    check_trace(graph, trace);

    Duration work{0};
    for (const TaskSpan& span : trace.tasks) {
      CHECK(span.duration() == costs.duration(span.task));  // conservation of work
      CHECK(span.submitted <= span.started);
      work += span.duration();
      const auto running =
          std::count_if(trace.tasks.begin(), trace.tasks.end(), [&](const TaskSpan& other) {
            return other.started <= span.started && span.started < other.ended;
          });
      CHECK(running <= units);
    }
    CHECK(trace.makespan() >= critical_path_length(graph, costs.durations()));
    CHECK(trace.makespan() * units >= work);
  }
}

TEST_CASE("two simulators run interleaved give what each gives alone, again and again") {
  const TaskGraph graph = test::random_graph(7);
  const Platform platform = test::random_platform(7);
  const CostTable costs{graph, platform};
  const Problem problem{graph, platform, costs};
  const Plan one = test::random_plan(graph, 1, 3, true);
  const Plan two = test::random_plan(graph, 2, 5, true);
  const Trace first = simulate(problem, one);
  const Trace second = simulate(problem, two);
  Simulator a;
  Simulator b;
  for (int round = 0; round < 3; ++round) {
    CHECK(a.run(problem, one) == first);
    CHECK(b.run(problem, two) == second);
    CHECK(a.run(problem, two, {.engine = EngineKind::event}) == second);
  }
}

TEST_CASE("with a free host and unlimited units a slower task never shortens an in-order plan") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = ideal_platform();
    CostTable costs{graph, platform};
    const Plan plan = test::random_plan(graph, seed, 4, false);
    const Duration before = simulate({graph, platform, costs}, plan).makespan();
    auto durations = costs.durations();
    const TaskId slowed{static_cast<std::uint32_t>(seed % graph.task_count())};
    durations[slowed] += std::chrono::microseconds{10};
    costs.set_task_durations(durations);
    const Duration after = simulate({graph, platform, costs}, plan).makespan();
    CHECK(after >= before);
    CHECK(after <= before + std::chrono::microseconds{10});
  }
}
