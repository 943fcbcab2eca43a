// SPDX-License-Identifier: Apache-2.0
#include "profiler/activity_trace.hpp"

#include "sim/base/error.hpp"
#include "tests/profiler/profiled_scene.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace schedlab;
using namespace schedlab::testing;
using namespace std::chrono_literals;

TEST_CASE("a task lasts from its first kernel's start to its last one's end") {
  const TwoStreams scene;
  // The run began at 900 ns of the clock that the log is mapped to.
  const ProfiledTrace made = activity_trace(scene.maker.log, scene.graph, scene.plan, Time{900ns});
  REQUIRE(made.trace.tasks.size() == 2);
  CHECK(made.trace.tasks[0] ==
        TaskSpan{.task = TaskId{0},
                 .stream = StreamId{0},
                 .host = HostId{0},
                 .device = DeviceId{0},
                 .submitted = Time{130ns},  // 1020 + 10 - 900: the second call
                 .started = Time{600ns},
                 .ended = Time{900ns}});
  CHECK(made.trace.tasks[1].stream == StreamId{1});
  CHECK(made.trace.tasks[1].started == Time{1000ns});
  CHECK(made.trace.ended == Time{1100ns});
  CHECK(made.problems.empty());
}

TEST_CASE("host spans are the plan's calls; both launches of a task are one") {
  const TwoStreams scene;
  const ProfiledTrace made = activity_trace(scene.maker.log, scene.graph, scene.plan, Time{900ns});
  const auto& hosts = made.trace.hosts;
  REQUIRE(hosts.size() == 5);  // the sleep left no record
  CHECK(hosts[0] == HostSpan{.host = HostId{0},
                             .call = 0,
                             .what = HostCall::launch(StreamId{0}, TaskId{0}),
                             .started = Time{100ns},
                             .ended = Time{130ns}});
  CHECK(hosts[1].call == 1);
  CHECK(hosts[2].call == 3);
  CHECK(hosts[2].what.kind() == HostCallKind::wait);
  CHECK(hosts[3].call == 4);
  CHECK(hosts[4].what.kind() == HostCallKind::synchronize);
  CHECK(hosts[4].blocked == 10ns);
}

TEST_CASE("calls of the driver within calls of the run-time are not counted twice") {
  TwoStreams scene;
  auto& calls = scene.maker.log.calls;
  ApiActivity inner = calls[0];
  inner.layer = ApiLayer::driver;
  inner.name = "cuLaunchKernel";
  inner.started = at(1002);
  inner.ended = at(1008);
  calls.insert(calls.begin() + 1, inner);
  const ProfiledTrace made = activity_trace(scene.maker.log, scene.graph, scene.plan, Time{900ns});
  REQUIRE(made.trace.hosts.size() == 5);
  CHECK(made.trace.hosts[0].ended == Time{130ns});
}

TEST_CASE("a call without a record is counted and the others keep their places") {
  TwoStreams scene;
  auto& calls = scene.maker.log.calls;
  calls.erase(calls.begin() + 2);  // the event record
  const ProfiledTrace made = activity_trace(scene.maker.log, scene.graph, scene.plan, Time{900ns});
  CHECK(made.problems.entries().at("record_without_record").count == 1);
  REQUIRE(made.trace.hosts.size() == 4);
  CHECK(made.trace.hosts[1].call == 3);
}

TEST_CASE("a clock that drifts is followed") {
  TwoStreams scene;
  // host = 5 us + 1.5 * (activity - 1000 ns)
  scene.maker.log.clock = {.activity_origin = at(1000), .host_origin = Time{5us}, .drift = 0.5};
  const ProfiledTrace made = activity_trace(scene.maker.log, scene.graph, scene.plan, Time{0s});
  CHECK(made.trace.tasks[0].started == Time{5750ns});  // 5000 + 1.5 * 500
  CHECK(made.trace.tasks[0].ended == Time{6200ns});    // 5000 + 1.5 * 800
}

namespace {

/// A graph of two nodes in streams 0 and 1, launched twice: tasks 0, 1 and 2, 3.
struct Graphs {
  Graphs() {
    plan.streams.push_back({});
    plan.streams.push_back({});
    DeviceGraph step;
    (void)step.add_node(StreamId{0}, {});
    (void)step.add_node(StreamId{1}, {0});
    step.add_launch(std::array{TaskId{0}, TaskId{1}});
    step.add_launch(std::array{TaskId{2}, TaskId{3}});
    plan.graphs.push_back(step);
    auto& calls = plan.hosts[HostId{0}].calls;
    calls.push_back(HostCall::graph_load(0));
    calls.push_back(HostCall::graph_launch(StreamId{0}, 0));
    calls.push_back(HostCall::graph_launch(StreamId{0}, 0));

    (void)maker.call("cudaGraphInstantiateWithFlags", 100);
    const std::uint32_t first = maker.call("cudaGraphLaunch", 200, WorkId::graph_launch(0, 0));
    const std::uint32_t second = maker.call("cudaGraphLaunch", 300, WorkId::graph_launch(0, 1));
    maker.log.nodes = {{501, WorkId::graph_node(0, 0)}, {502, WorkId::graph_node(0, 1)}};
    maker.kernel(first, 1000, 1100, 13, 501);
    maker.kernel(first, 1200, 1300, 14, 502);
    maker.kernel(second, 2000, 2100, 13, 501);
    maker.kernel(second, 2200, 2300, 14, 502);
  }

  TaskGraph graph = loose_tasks(4);
  Plan plan;
  LogMaker maker;
};

}  // namespace

TEST_CASE("kernels of a graph belong to the tasks of the launch they ran in") {
  const Graphs scene;
  const ProfiledTrace made = activity_trace(scene.maker.log, scene.graph, scene.plan, Time{0s});
  REQUIRE(made.trace.tasks.size() == 4);
  CHECK(made.trace.tasks[1] == TaskSpan{.task = TaskId{1},
                                        .stream = StreamId{1},
                                        .host = HostId{0},
                                        .device = DeviceId{0},
                                        .submitted = Time{210ns},
                                        .started = Time{1200ns},
                                        .ended = Time{1300ns}});
  CHECK(made.trace.tasks[2].task == TaskId{2});
  CHECK(made.trace.tasks[2].submitted == Time{310ns});
  CHECK(made.trace.tasks[2].started == Time{2000ns});
  REQUIRE(made.trace.hosts.size() == 3);
  CHECK(made.trace.hosts[0].what.kind() == HostCallKind::graph_load);
  CHECK(made.trace.hosts[2].started == Time{300ns});
}

TEST_CASE("a task without a record is named, and the missing nodes suspected") {
  Graphs scene;
  scene.maker.log.nodes.erase(502);
  try {
    (void)activity_trace(scene.maker.log, scene.graph, scene.plan, Time{0s});
    FAIL("a task without a record was accepted");
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    CHECK(text.find("task " + scene.graph.name(TaskId{1}) + " ") != std::string::npos);
    CHECK(text.find("GraphDetail::nodes") != std::string::npos);
  }
}

TEST_CASE("a log with losses makes no trace") {
  TwoStreams scene;
  scene.maker.log.dropped_records = 3;
  CHECK_THROWS_AS((void)activity_trace(scene.maker.log, scene.graph, scene.plan, Time{0s}),
                  DeviceError);
}
