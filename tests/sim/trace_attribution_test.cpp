// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/trace/attribution.hpp"
#include "sim/trace/metrics.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace schedlab {
namespace {

using namespace schedlab::literals;

constexpr std::uint64_t seeds = 200;
constexpr SimulationOptions recorded{.record_hosts = true, .record_flows = true};

template <class Times>
[[nodiscard]] Duration sum(const Times& times) {
  return std::accumulate(times.begin(), times.end(), Duration{0});
}

/// Tasks of given kinds and durations without edges on one device, and a plan to be filled.
struct AttributionScene {
  TaskGraphBuilder builder;
  Platform platform = ideal_platform(2);
  Plan plan;
  TaskGraph graph;
  Trace trace;

  AttributionScene() { platform.name = "scene"; }
  TaskId task(Duration duration, TaskKind kind = TaskKind::fixed) {
    return builder.add_task(
        builder.add_operation({.name = "task", .kind = kind, .fixed_duration = duration}));
  }
  StreamId stream(int priority = 0) {
    return plan.streams.push_back({.device = DeviceId{0}, .priority = priority});
  }
  void call(HostCall call) { plan.hosts[HostId{0}].calls.push_back(call); }
  Device& device() { return platform.devices[DeviceId{0}]; }
  HostCosts& costs() { return platform.hosts[HostId{0}].costs; }
  /// One unit that every task needs whole.
  void limit_units() {
    device().unit_class_of.fill(device().unit_classes.push_back({.name = "unit", .count = 1}));
  }

  [[nodiscard]] Attribution attribution() {
    graph = std::move(builder).build();
    class Whole final : public CostModel {
     public:
      [[nodiscard]] std::string_view name() const override { return "whole"; }
      [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
        return {.duration = operation.fixed_duration};
      }
    };
    const CostTable table{graph, platform, Whole{}};
    const Problem problem{graph, platform, table};
    trace = simulate(problem, plan, recorded);
    return attribute(problem, plan, trace, trace_critical_path(problem, trace), 10);
  }
};

/// The gap before a task, by cause; all 0 if there is none.
[[nodiscard]] CauseTimes before(const Attribution& of, TaskId task) {
  const auto found = std::find_if(
      of.gaps.begin(), of.gaps.end(), [&](const StreamGap& gap) { return gap.task == task; });
  return found == of.gaps.end() ? CauseTimes{} : found->by_cause;
}

/// Nothing but the given parts.
[[nodiscard]] CauseTimes only(std::initializer_list<std::pair<WaitCause, Duration>> parts) {
  CauseTimes times{};
  for (const auto& [cause, time] : parts) times[static_cast<std::size_t>(cause)] = time;
  return times;
}

[[nodiscard]] Duration of(const Attribution& run, DeviceBound bound) {
  return run.bound[static_cast<std::size_t>(bound)];
}

TEST_CASE("A host that is slower than the device shows in every gap and in the shares") {
  AttributionScene scene;
  scene.costs().launch = 5us;
  const StreamId stream = scene.stream();
  std::vector<TaskId> tasks;
  for (int i = 0; i < 10; ++i) {
    tasks.push_back(scene.task(3us));
    scene.call(HostCall::launch(stream, tasks.back()));
  }
  const Attribution run = scene.attribution();
  CHECK(before(run, tasks[0]) == only({{WaitCause::host, 5us}}));
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    CHECK(before(run, tasks[i]) == only({{WaitCause::host, 2us}}));  // 5 - 3
  }
  CHECK(run.makespan == 53us);  // 10 * 5 + 3
  CHECK(of(run, DeviceBound::device_bound) == 30us);
  CHECK(of(run, DeviceBound::host_bound) == 23us);  // 5 + 9 * 2
  // All but the last task lies behind the host: a faster device would gain nothing.
  CHECK(run.path_bound[static_cast<std::size_t>(PathBound::host)] == 50us);
  CHECK(run.path_bound[static_cast<std::size_t>(PathBound::device)] == 3us);
}

TEST_CASE("A wait for an event counts as a dependency until the work before it has ended") {
  AttributionScene scene;
  scene.device().event_latency = 2us;
  const StreamId first = scene.stream();
  const StreamId second = scene.stream();
  const TaskId a = scene.task(10us);
  const TaskId b = scene.task(4us);
  scene.plan.event_count = 1;
  scene.call(HostCall::launch(first, a));
  scene.call(HostCall::record(first, EventId{0}));
  scene.call(HostCall::wait(second, EventId{0}));
  scene.call(HostCall::launch(second, b));
  const Attribution run = scene.attribution();
  CHECK(before(run, b) == only({{WaitCause::dependency, 10us}, {WaitCause::latency, 2us}}));
  CHECK(of(run, DeviceBound::latency_bound) == 2us);
  CHECK(of(run, DeviceBound::device_bound) == 14us);
  CHECK(run.path_bound[static_cast<std::size_t>(PathBound::latency)] == 2us);
  REQUIRE(run.gaps.size() == 2);  // before b, and after a
  CHECK(run.gaps[0].by_cause == only({{WaitCause::nothing_left, 6us}}));
}

TEST_CASE("Launch latency and stream gap are latency") {
  AttributionScene scene;
  scene.device().launch_latency = 3us;
  scene.device().stream_gap = 1us;
  const StreamId stream = scene.stream();
  const TaskId a = scene.task(10us);
  const TaskId b = scene.task(10us);
  scene.call(HostCall::launch(stream, a));
  scene.call(HostCall::launch(stream, b));
  const Attribution run = scene.attribution();
  CHECK(before(run, a) == only({{WaitCause::latency, 3us}}));
  CHECK(before(run, b) == only({{WaitCause::latency, 1us}}));
}

TEST_CASE("A node of a device graph waits for its need and then for the node gap") {
  AttributionScene scene;
  scene.costs().graph_launch = 4us;
  scene.device().graph_node_gap = 2us;
  const StreamId first = scene.stream();
  const StreamId second = scene.stream();
  const TaskId a = scene.task(10us);
  const TaskId b = scene.task(5us);
  scene.plan.event_count = 1;
  scene.call(HostCall::launch(first, a));
  scene.call(HostCall::record(first, EventId{0}));
  scene.call(HostCall::wait(second, EventId{0}));
  scene.call(HostCall::launch(second, b));
  scene.builder.add_edge(a, b);
  scene.plan = capture_graphs(scene.plan);
  const Attribution run = scene.attribution();
  CHECK(before(run, a) == only({{WaitCause::host, 4us}}));
  CHECK(before(run, b) == only({{WaitCause::dependency, 14us}, {WaitCause::latency, 2us}}));
}

TEST_CASE("A task behind another stream's work in its connection waits for the connection") {
  AttributionScene scene;
  scene.device().connections = 1;
  const StreamId first = scene.stream();
  const StreamId second = scene.stream();
  const TaskId a = scene.task(10us);
  const TaskId b = scene.task(10us);
  const TaskId c = scene.task(10us);
  scene.call(HostCall::launch(first, a));
  scene.call(HostCall::launch(first, b));   // may start at 10, and holds the connection until then
  scene.call(HostCall::launch(second, c));  // needs nothing of a and b
  const Attribution run = scene.attribution();
  CHECK(before(run, c) == only({{WaitCause::connection, 10us}}));
}

TEST_CASE("A copy waits for the copy engine, a kernel for units") {
  for (const bool copies : {true, false}) {
    CAPTURE(copies);
    AttributionScene scene;
    scene.limit_units();
    const TaskKind kind = copies ? TaskKind::copy_host_to_device : TaskKind::gemm;
    const TaskId a = scene.task(10us, kind);
    const TaskId b = scene.task(10us, kind);
    scene.call(HostCall::launch(scene.stream(), a));
    scene.call(HostCall::launch(scene.stream(), b));
    const Attribution run = scene.attribution();
    CHECK(before(run, b) == only({{copies ? WaitCause::copy_engine : WaitCause::resource, 10us}}));
  }
}

TEST_CASE("A task that more urgent ones overtake waits for priority, before that for units") {
  AttributionScene scene;
  scene.limit_units();
  scene.costs().launch = 1us;
  const TaskId running = scene.task(10us);
  const TaskId low = scene.task(10us);
  const TaskId urgent = scene.task(7us);
  scene.call(HostCall::launch(scene.stream(), running));   // 1..11
  scene.call(HostCall::launch(scene.stream(), low));       // ready at 2
  scene.call(HostCall::launch(scene.stream(-1), urgent));  // ready at 3, runs 11..18
  const Attribution run = scene.attribution();
  // From 3 on the urgent task is before it, whoever still has the unit.
  CHECK(before(run, low) ==
        only({{WaitCause::host, 2us}, {WaitCause::resource, 1us}, {WaitCause::priority, 15us}}));
  CHECK(before(run, urgent) == only({{WaitCause::host, 3us}, {WaitCause::resource, 8us}}));
}

TEST_CASE("A device that waits for another one is bound by the dependency") {
  AttributionScene scene;
  scene.platform.devices.push_back(scene.device());
  const StreamId first = scene.stream();
  const StreamId second = scene.plan.streams.push_back({.device = DeviceId{1}});
  const TaskId a = scene.task(10us);
  const TaskId b = scene.task(5us);
  scene.plan.event_count = 1;
  scene.call(HostCall::launch(first, a));
  scene.call(HostCall::record(first, EventId{0}));
  scene.call(HostCall::wait(second, EventId{0}));
  scene.call(HostCall::launch(second, b));
  const Attribution run = scene.attribution();
  CHECK(of(run, DeviceBound::dependency_bound) == 10us);  // device 1
  CHECK(of(run, DeviceBound::device_bound) == 15us);
  CHECK(of(run, DeviceBound::nothing_left) == 5us);  // device 0, after a
  CHECK(run.share(DeviceBound::device_bound) == doctest::Approx(0.5));
}

TEST_CASE("Regions divide the time of the device among the values of a tag") {
  AttributionScene scene;
  scene.costs().launch = 2us;
  const StreamId stream = scene.stream();
  const OperationId operation =
      scene.builder.add_operation({.name = "node", .fixed_duration = 5us});
  for (std::int16_t layer = 0; layer < 3; ++layer) {
    scene.call(HostCall::launch(stream, scene.builder.add_task(operation, {.layer = layer})));
  }
  const Attribution run = scene.attribution();  // 2 us of waiting, then 3 * 5 us
  REQUIRE(run.regions.size() == 3);
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    const RegionShare& region = run.regions[static_cast<std::size_t>(layer)];
    CHECK(region.tag == "layer");
    CHECK(region.value == layer);
    CHECK(region.tasks == 1);
    CHECK(sum(region.devices) == (layer == 0 ? 7us : 5us));
  }
}

void check_sums(const Problem& problem, const Plan& plan, const Trace& trace) {
  const Metrics metrics = compute_metrics(problem, plan, trace);
  const Attribution run = attribute(problem, plan, trace, metrics.critical_path, 7);
  CHECK(sum(run.bound) == trace.makespan());
  CHECK(sum(run.path_bound) == trace.makespan());
  CHECK(run.share(DeviceBound::host_bound) == doctest::Approx(metrics.host_bound_share));
  CHECK(run.share(DeviceBound::device_bound) == doctest::Approx(metrics.busy_share));
  CHECK(run.idle_by_cause[static_cast<std::size_t>(WaitCause::other)] == Duration{0});

  std::vector<Duration> idle(plan.streams.size(), Duration{0});
  for (const StreamGap& gap : run.gaps) {
    CHECK(sum(gap.by_cause) == gap.duration());
    idle[gap.stream.value()] += gap.duration();
  }
  for (const StreamUse& use : metrics.stream_use) CHECK(idle[use.stream.value()] == use.idle);
  CHECK(sum(run.idle_by_cause) == sum(idle));

  Time until{};
  for (const BoundSpan& span : run.spans) {
    CHECK(span.begin == until);  // one device: no holes, nothing twice
    until = span.end;
  }
  CHECK(until == trace.ended);
  BoundTimes binned{};
  Duration on_path{0};
  for (const BoundBin& bin : run.bins) {
    CHECK(sum(bin.devices) == bin.end - bin.begin);
    CHECK(sum(bin.path) == bin.end - bin.begin);
    for (std::size_t i = 0; i < device_bound_count; ++i) binned[i] += bin.devices[i];
    on_path += sum(bin.path);
  }
  CHECK(binned == run.bound);
  CHECK(on_path == trace.makespan());
}

TEST_CASE("On random plans every part is accounted for once, and host_bound has one meaning") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    const Plan plan =
        test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 9), seed % 2 == 0);
    const Problem problem{graph, platform, costs};
    check_sums(problem, plan, simulate(problem, plan, recorded));
  }
}

TEST_CASE("The same holds where tasks wait for a unit") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    Platform platform = test::random_platform(seed);
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({.name = "unit", .count = 2}));
    class Half final : public CostModel {
     public:
      [[nodiscard]] std::string_view name() const override { return "half"; }
      [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
        return {.duration = operation.fixed_duration, .share = 0.5};
      }
    };
    const CostTable costs{graph, platform, Half{}};
    Plan plan = test::random_plan(graph, seed, 6, false);
    for (StreamSpec& stream : plan.streams) stream.priority = -static_cast<int>(seed % 2);
    const Problem problem{graph, platform, costs};
    check_sums(problem, plan, simulate(problem, plan, recorded));
  }
}

}  // namespace
}  // namespace schedlab
