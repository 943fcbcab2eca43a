// SPDX-License-Identifier: Apache-2.0
// Kernels that start while the one before them in their stream drains.
#include "sim/base/error.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/launch/programmatic.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/plan_json.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/refusal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using namespace std::chrono_literals;
using C = schedlab::HostCall;
using P = schedlab::ProgrammaticLaunches;

namespace {

constexpr StreamId s0{0};
constexpr StreamId s1{1};

/// Tasks of 10 us without edges, of these kinds; a plan on two streams.
struct PairScene {
  explicit PairScene(const std::vector<TaskKind>& kinds) {
    TaskGraphBuilder builder;
    for (const TaskKind kind : kinds) {
      builder.add_task(builder.add_operation(
          {.name = std::string{to_string(kind)}, .kind = kind, .fixed_duration = 10us}));
    }
    graph = std::move(builder).build();
    plan.streams.resize(2);
    plan.event_count = 1;
    Device& device = platform.devices[DeviceId{0}];
    device.stream_gap = 2us;
    device.graph_node_gap = 1us;
    device.programmatic_gap = 500ns;
  }
  void calls(std::vector<HostCall> made) { plan.hosts[HostId{0}].calls = std::move(made); }
  /// Starts in microseconds, by task; both engines must agree where both can run it.
  std::vector<double> starts() const {
    std::vector<double> result(graph.task_count());
    for (const EngineKind engine : {EngineKind::event, EngineKind::in_order}) {
      const Trace trace = simulate(problem(), plan, {.engine = engine});
      for (const TaskSpan& span : trace.tasks) {
        double& start = result[span.task.value()];
        if (engine == EngineKind::in_order) CHECK(start == to_us(span.started));
        start = to_us(span.started);
      }
    }
    return result;
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
  [[nodiscard]] std::string finding() const {
    const auto findings = check(graph, platform, plan);
    return findings.empty() ? "" : findings.front().message;
  }
  void mark(P kernels) { launch_programmatically(plan, graph, kernels); }

  TaskGraph graph;
  Platform platform = ideal_platform();
  CostTable costs{graph, platform};
  Plan plan;
};

using Starts = std::vector<double>;
constexpr TaskKind cell = TaskKind::pointwise;
constexpr TaskKind product = TaskKind::gemm;

PairScene scene_of(const std::vector<TaskKind>& kinds, std::vector<HostCall> calls) {
  PairScene scene{kinds};
  scene.costs = CostTable{scene.graph, scene.platform};
  scene.calls(std::move(calls));
  return scene;
}
C go(StreamId stream, std::uint32_t task) {
  return C::launch(stream, TaskId{task});
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "a programmatic launch follows its predecessor after programmatic_gap, others after gap") {
  PairScene s = scene_of({cell, cell, cell}, {go(s0, 0), go(s0, 1), go(s0, 2)});
  CHECK(s.starts() == Starts{0, 12, 24});
  s.mark(P::own_kernels);
  CHECK(s.starts() == Starts{0, 10.5, 21});
  CHECK(s.finding().empty());
}

TEST_CASE("a library's products neither trigger nor wait unless all kernels take part") {
  PairScene s =
      scene_of({product, cell, cell, product}, {go(s0, 0), go(s0, 1), go(s0, 2), go(s0, 3)});
  PairScene all = s;
  s.mark(P::own_kernels);
  CHECK(s.starts() == Starts{0, 12, 22.5, 34.5});
  all.mark(P::all_kernels);
  CHECK(all.starts() == Starts{0, 10.5, 21, 31.5});
  CHECK(all.finding().empty());
}

TEST_CASE("only a launch right behind another one of its stream is programmatic") {
  PairScene s = scene_of({cell, cell, cell, TaskKind::copy_device_to_device, cell},
                         {go(s0, 0),
                          C::record(s0, EventId{0}),
                          go(s0, 1),  // a record is between
                          C::wait(s1, EventId{0}),
                          go(s1, 2),    // the first of its stream
                          go(s1, 3),    // a copy,
                          go(s1, 4)});  // and behind one
  const Plan before = s.plan;
  s.mark(P::all_kernels);
  CHECK(s.plan == before);
  CHECK_FALSE(s.plan.programmatic());
}

TEST_CASE("a node is programmatic whose only need is a kernel of its own stream") {
  PairScene s = scene_of({cell, cell, cell, cell},
                         {go(s0, 0),
                          C::record(s0, EventId{0}),
                          go(s0, 1),
                          C::wait(s1, EventId{0}),
                          go(s1, 2),  // needs a node of another stream
                          go(s1, 3)});
  s.plan = capture_graphs(s.plan);
  CHECK(s.starts() == Starts{0, 11, 11, 22});
  s.mark(P::own_kernels);
  CHECK(s.starts() == Starts{0, 10.5, 11, 21.5});
  CHECK(s.finding().empty());
}

TEST_CASE("capture keeps what is programmatic and becomes the only need") {
  PairScene s = scene_of({cell, cell}, {go(s0, 0), go(s0, 1)});
  s.mark(P::own_kernels);
  s.plan = capture_graphs(s.plan);
  CHECK(s.starts() == Starts{0, 10.5});
}

TEST_CASE("a file keeps programmatic launches, nodes and partitions, and says what is wrong") {
  PairScene s = scene_of({cell, cell, cell}, {go(s0, 0), go(s0, 1), go(s0, 2)});
  s.mark(P::own_kernels);
  Plan captured = capture_graphs(s.plan);
  captured.partitions = {2, 3};
  captured.streams[s1].partition = 2;
  for (const Plan& plan : {s.plan, captured}) {
    CHECK(plan.programmatic());
    CHECK(plan_from_json(plan_to_json(plan, s.graph), s.graph, "a.json") == plan);
  }
  const auto refused = [&](const char* from, const char* to) {
    std::string text = plan_to_json(captured, s.graph);
    text.replace(text.find(from), std::string{from}.size(), to);
    return testing::refusal([&] { static_cast<void>(plan_from_json(text, s.graph, "a.json")); });
  };
  CHECK(has(refused("[0], \"programmatic\": true", "[], \"programmatic\": true"),
            "/graphs/0/nodes/1/programmatic: found true, expected exactly one need for it, not 0"));
  CHECK(has(refused("[2, 3", "[2, -3"), "/partitions/1: found -3, expected a whole number"));
}

TEST_CASE("the checker refuses a programmatic launch that could not be one") {
  PairScene s =
      scene_of({cell, TaskKind::copy_host_to_device, cell},
               {C::launch(s0, TaskId{0}, true), go(s1, 1), C::launch(s1, TaskId{2}, true)});
  CHECK(has(s.finding(), "is programmatic, but not right behind another launch in its stream"));
  s.calls({go(s0, 0), go(s1, 1), C::launch(s1, TaskId{2}, true)});
  CHECK(has(s.finding(), "are not both kernels"));
  s.calls({go(s0, 0), go(s1, 1), C::launch(s0, TaskId{2}, true)});
  CHECK(s.finding().empty());
  s.platform.devices[DeviceId{0}].programmatic_gap.reset();
  CHECK(has(s.finding(), "the device has no programmatic launches"));
}

TEST_CASE("no kernel starts before the one it follows ends, and none later than plainly launched") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Platform platform = test::random_platform(seed);
    const CostTable costs{graph, platform};
    const Problem problem{graph, platform, costs};
    Plan plan = test::random_plan(graph, seed, 1 + static_cast<std::uint32_t>(seed % 5), false);
    const Trace plain = simulate(problem, plan);
    test::launch_some_programmatically(plan, seed);
    const Trace trace = simulate(problem, plan, {.engine = EngineKind::event});
    CHECK(simulate(problem, plan, {.engine = EngineKind::in_order}).tasks == trace.tasks);
    IdVector<StreamId, Time> ended(plan.streams.size());
    for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
      CHECK(trace.tasks[i].started >= ended[trace.tasks[i].stream]);
      CHECK(trace.tasks[i].started <= plain.tasks[i].started);
      ended[trace.tasks[i].stream] = trace.tasks[i].ended;
    }
    for (const BoundWitness& witness :
         bound_ladder({.problem = problem, .plans = {.programmatic = true}})) {
      CHECK(witness.bound <= trace.makespan());
    }
  }
}

// "PDL Two Consumers Analysis" of cuda_pdl_two_consumers.cu, Nsight Systems, an NVIDIA GB200: a
// producer of 43.37 us triggers half-way; two consumers (3.46 and 3.76 us) take 47.425 us with it
// by programmatic edges. By plain edges the first starts 1.73 us after its end.
TEST_CASE("published: two programmatic consumers of one producer") {
  const std::vector<Duration> measured{43370ns, 3460ns, 3760ns};
  TaskGraphBuilder builder;
  const OperationId kernel = builder.add_operation({.name = "kernel"});
  for (const Duration duration : measured) builder.set_duration(builder.add_task(kernel), duration);
  const TaskGraph graph = std::move(builder).build();
  Platform platform = ideal_platform();
  platform.devices[DeviceId{0}].graph_node_gap = 1730ns;
  platform.devices[DeviceId{0}].programmatic_gap = 70ns;
  const CostTable costs{graph, platform};
  const auto makespan_us = [&](bool programmatic) {
    Plan plan;
    plan.streams.resize(3);
    DeviceGraph fork;
    fork.add_node(StreamId{0}, {});
    fork.add_node(StreamId{1}, {0}, programmatic);
    fork.add_node(StreamId{2}, {0}, programmatic);
    fork.add_launch(std::vector{TaskId{0}, TaskId{1}, TaskId{2}});
    plan.graphs.push_back(fork);
    plan.hosts[HostId{0}].calls = {C::graph_launch(s0, 0)};
    return to_us(simulate({graph, platform, costs}, plan).makespan());
  };
  const double published = 47.425;
  const double predicted = makespan_us(true);
  CHECK(predicted == doctest::Approx(47.20));  // 43.37 + 0.07 + 3.76: -0.5 %
  CHECK(std::abs(predicted / published - 1) < 0.01);
  CHECK(makespan_us(false) == doctest::Approx(48.86));  // 1.66 us more
}
