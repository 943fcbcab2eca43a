// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan.hpp"

#include <algorithm>
#include <vector>

using namespace schedlab;

namespace {

using C = HostCall;
constexpr StreamId s0{0};
constexpr StreamId s1{1};

Time at(Duration d) {
  return Time{d};
}

/// Tasks without edges that last what the test says, on one device; graphs are made by hand.
struct Scene {
  Platform platform = ideal_platform(3);
  TaskGraphBuilder builder;
  OperationId operation = builder.add_operation({.name = "task"});
  Plan plan;

  explicit Scene(std::vector<int> priorities = {0, 0}) {
    for (const int priority : priorities) plan.streams.push_back({DeviceId{0}, priority, {}});
  }
  Device& device() { return platform.devices[DeviceId{0}]; }
  HostCosts& costs() { return platform.hosts[HostId{0}].costs; }
  TaskId task(Duration duration) {
    const TaskId id = builder.add_task(operation);
    builder.set_duration(id, duration);
    return id;
  }
  void call(HostCall c) { plan.hosts[HostId{0}].calls.push_back(c); }
  /// Both engines, where both apply.
  Trace run() {
    const TaskGraph graph = std::move(builder).build();
    const CostTable costs_table{graph, platform};
    expect_well_formed(plan, graph.task_count());
    const Problem problem{graph, platform, costs_table};
    const Trace events =
        simulate(problem, plan, {.engine = EngineKind::event, .record_hosts = true});
    if (in_order_applies(problem, plan)) {
      CHECK(simulate(problem, plan, {.engine = EngineKind::in_order, .record_hosts = true}) ==
            events);
      // Without recorded calls the sweep takes a shorter way.
      const Trace plain = simulate(problem, plan, {.engine = EngineKind::in_order});
      CHECK(plain.makespan() == events.makespan());
      CHECK(plain.tasks == events.tasks);
    }
    return events;
  }
  /// A chain of tasks of these durations as one graph on stream 0.
  void chain(const std::vector<Duration>& durations) {
    DeviceGraph graph;
    std::vector<TaskId> row;
    for (std::uint32_t i = 0; i < durations.size(); ++i) {
      graph.add_node(s0, i == 0 ? std::vector<std::uint32_t>{} : std::vector{i - 1});
      row.push_back(task(durations[i]));
    }
    graph.add_launch(row);
    plan.graphs.push_back(graph);
  }
};

}  // namespace

TEST_CASE("a chain in a graph takes launch + latency + tasks + gaps between them") {
  Scene s;
  s.costs().graph_launch = 2500ns;
  s.costs().graph_launch_node = 1ns;
  s.device().launch_latency = 1us;
  s.device().stream_gap = 900ns;  // of no concern within a graph
  s.device().graph_node_gap = 550ns;
  s.chain({3us, 5us, 2us, 7us});
  s.call(C::graph_launch(s0, 0));
  const Trace trace = s.run();
  // 2.5 + 4 * 0.001 host, 1 latency, 17 tasks, 3 * 0.55 gaps.
  CHECK(trace.makespan() == 2504ns + 1us + 17us + 1650ns);
  CHECK(trace.tasks[0].submitted == at(2504ns));
  CHECK(trace.tasks[0].started == at(3504ns));
  CHECK(trace.tasks[1].started - trace.tasks[0].ended == 550ns);
}

TEST_CASE("loading a graph costs the host its time, once") {
  Scene s;
  s.costs().graph_load = 100us;
  s.costs().graph_load_node = 2us;
  s.costs().graph_launch = 3us;
  s.chain({1us, 1us});
  s.call(C::graph_load(0));
  s.call(C::graph_launch(s0, 0));
  const Trace trace = s.run();
  CHECK(trace.hosts[0].ended == at(104us));
  CHECK(trace.hosts[1].ended == at(107us));
  CHECK(trace.makespan() == 109us);
}

TEST_CASE("only needs order nodes: a diamond runs its sides at once, whatever streams they carry") {
  Scene s;
  s.device().connections = 1;  // of no concern: nodes take no connection
  DeviceGraph graph;
  graph.add_node(s0, {});
  graph.add_node(s0, {0});
  graph.add_node(s0, {0});
  graph.add_node(s1, {1, 2});
  graph.add_launch(std::vector{s.task(2us), s.task(10us), s.task(6us), s.task(1us)});
  s.plan.graphs.push_back(graph);
  s.call(C::graph_launch(s0, 0));
  const Trace trace = s.run();
  CHECK(trace.tasks[1].started == at(2us));
  CHECK(trace.tasks[2].started == at(2us));
  CHECK(trace.tasks[3].started == at(12us));
  CHECK(trace.makespan() == 13us);
}

TEST_CASE("a launch is one item of its stream: what is behind it waits for all nodes") {
  Scene s;
  s.device().stream_gap = 1us;
  DeviceGraph graph;
  graph.add_node(s1, {});
  graph.add_node(s1, {});
  const TaskId before = s.task(4us);
  graph.add_launch(std::vector{s.task(10us), s.task(20us)});
  const TaskId after = s.task(3us);
  s.plan.graphs.push_back(graph);
  s.plan.event_count = 1;
  s.call(C::launch(s0, before));
  s.call(C::graph_launch(s0, 0));
  s.call(C::record(s0, EventId{0}));
  s.call(C::wait(s1, EventId{0}));
  s.call(C::launch(s1, after));
  const Trace trace = s.run();
  CHECK(trace.tasks[1].started == at(5us));  // 4 + gap: as a task would
  CHECK(trace.tasks[2].started == at(5us));
  CHECK(trace.tasks[3].started == at(25us));
  CHECK(trace.makespan() == 28us);
}

TEST_CASE("a graph launched again waits for its execution before, even in another stream") {
  Scene s;
  DeviceGraph graph;
  graph.add_node(s0, {});
  graph.add_launch(std::vector{s.task(10us)});
  graph.add_launch(std::vector{s.task(5us)});
  s.plan.graphs.push_back(graph);
  DeviceGraph other;  // a graph of its own may run beside it
  other.add_node(s1, {});
  other.add_launch(std::vector{s.task(4us)});
  s.plan.graphs.push_back(other);
  s.call(C::graph_launch(s0, 0));
  s.call(C::graph_launch(s1, 0));
  s.plan.streams.push_back({});
  s.call(C::graph_launch(StreamId{2}, 1));
  const Trace trace = s.run();
  CHECK(trace.tasks[0].started == at(0us));
  CHECK(trace.tasks[1].started == at(10us));
  CHECK(trace.tasks[2].started == at(0us));
  CHECK(trace.makespan() == 15us);
}

TEST_CASE("a graph takes one place in the launch queue") {
  Scene s;
  s.platform.hosts[HostId{0}].launch_queue_depth = 1;
  s.costs().launch = 1us;
  s.chain({5us, 5us});
  const TaskId next = s.task(1us);
  s.call(C::graph_launch(s0, 0));
  s.call(C::launch(s0, next));
  const Trace trace = s.run();
  CHECK(trace.hosts[1].blocked == 10us);
  CHECK(trace.tasks[2].started == at(11us));
}

TEST_CASE("nodes compete with the priority of their streams, or with that of the launch") {
  // One unit, taken for 1 us by a first node; then an ordinary node before an urgent one, by
  // number.
  const auto order = [](bool node_priorities) {
    Scene s({0, -1});
    s.device().unit_class_of.fill(s.device().unit_classes.push_back({"unit", 1}));
    DeviceGraph graph;
    graph.node_priorities = node_priorities;
    graph.add_node(s0, {});
    graph.add_node(s0, {});
    graph.add_node(s1, {});
    std::vector<TaskId> row;
    for (int i = 0; i < 3; ++i) row.push_back(s.task(1us));
    graph.add_launch(row);
    s.plan.graphs.push_back(graph);
    s.call(C::graph_launch(s0, 0));
    const TaskGraph tasks = std::move(s.builder).build();
    class Whole final : public CostModel {
     public:
      [[nodiscard]] std::string_view name() const override { return "whole"; }
      [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
        return {.duration = 1us, .share = 1.0};
      }
    };
    const CostTable costs{tasks, s.platform, Whole{}};
    const Trace trace = simulate({tasks, s.platform, costs}, s.plan);
    return std::vector<Time>{
        trace.tasks[0].started, trace.tasks[1].started, trace.tasks[2].started};
  };
  CHECK(order(true) == std::vector<Time>{at(1us), at(2us), at(0us)});
  CHECK(order(false) == std::vector<Time>{at(0us), at(1us), at(2us)});
}

TEST_CASE("a random graph launched many times keeps its needs, its order and the units") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    Scene s({0, -1, -2});
    const std::uint32_t units = 1 + static_cast<std::uint32_t>(seed % 3);
    s.device().unit_class_of.fill(s.device().unit_classes.push_back({"unit", units}));
    DeviceGraph graph;
    const std::uint32_t nodes = 2 + static_cast<std::uint32_t>(rng.below(12));
    for (std::uint32_t node = 0; node < nodes; ++node) {
      std::vector<std::uint32_t> needs;
      for (std::uint32_t need = 0; need < node; ++need) {
        if (rng.below(4) == 0) needs.push_back(need);
      }
      graph.add_node(StreamId{static_cast<std::uint32_t>(rng.below(3))}, needs);
    }
    constexpr std::uint32_t launches = 4;
    for (std::uint32_t launch = 0; launch < launches; ++launch) {
      std::vector<TaskId> row;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        row.push_back(s.task(Duration{std::int64_t(1'000'000 + rng.below(5'000'000))}));
      }
      graph.add_launch(row);
      s.call(C::graph_launch(StreamId{launch % 3}, 0));
    }
    s.plan.graphs.push_back(graph);
    s.device().graph_node_gap = 300ns;
    const TaskGraph tasks = std::move(s.builder).build();
    struct OneUnit final : CostModel {
      explicit OneUnit(double s) : share(s) {}
      [[nodiscard]] std::string_view name() const override { return "one_unit"; }
      [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
        return {.duration = 1us, .share = share};
      }
      double share;
    };
    const CostTable costs{tasks, s.platform, OneUnit{1.0 / units}};
    const Trace trace = simulate({tasks, s.platform, costs}, s.plan);
    REQUIRE(trace.tasks.size() == std::size_t{nodes} * launches);
    for (std::uint32_t launch = 0; launch < launches; ++launch) {
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const TaskSpan& span = trace.tasks[launch * nodes + node];
        CHECK(span.duration() == costs.duration(span.task));
        for (const std::uint32_t need : graph.needs(node)) {
          CHECK(span.started >= trace.tasks[launch * nodes + need].ended + 300ns);
        }
        for (std::uint32_t other = 0; launch > 0 && other < nodes; ++other) {
          CHECK(span.started >= trace.tasks[(launch - 1) * nodes + other].ended);
        }
        const auto running =
            std::count_if(trace.tasks.begin(), trace.tasks.end(), [&](const TaskSpan& o) {
              return o.started <= span.started && span.started < o.ended;
            });
        CHECK(running <= units);
      }
    }
  }
}
