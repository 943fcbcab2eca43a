// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "real_exec/executor/device_executor.hpp"
#include "real_exec/executor/recording_backend.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

DeviceProperties two_levels() {
  return {.name = "recorded", .least_priority = 0, .greatest_priority = -1};
}

Scene grid() {
  return Scene{schedlab::testing::gradient_grid(3, 4), Duration{1}};
}

/// Tasks 0 and 1 in stream 0, an event, task 2 in stream 1; then the host waits for the event.
struct TwoStreams {
  TaskGraph graph = schedlab::testing::gradient_grid(1, 3);
  Plan plan;

  TwoStreams() {
    plan.streams.push_back({.name = "first"});
    plan.streams.push_back({.name = "second"});
    plan.event_count = 1;
    plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                   HostCall::record(StreamId{0}, EventId{0}),
                                   HostCall::launch(StreamId{0}, TaskId{1}),
                                   HostCall::wait(StreamId{1}, EventId{0}),
                                   HostCall::launch(StreamId{1}, TaskId{2}),
                                   HostCall::synchronize_event(EventId{0})};
  }
};

/// Counts what it is told.
class CountingObserver final : public LaunchObserver {
 public:
  void before(TaskId task) override { open.push_back(task); }
  void after(TaskId task) override { closed.push_back(task); }
  void before_node(TaskId task, std::uint32_t, std::uint32_t) override { nodes.push_back(task); }
  void before_graph(std::uint32_t, std::uint32_t) override { ++graphs; }

  std::vector<TaskId> open, closed, nodes;
  int graphs = 0;
};

}  // namespace

TEST_CASE("a launch that fails ends the run with the task's name, and the backend is given back") {
  const Scene scene = grid();
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  RecordingBackend backend(two_levels());
  const TaskId bad{6};
  backend.failure = [&](HostCall call) -> std::optional<std::string> {
    if (call.kind() != HostCallKind::launch || call.task() != bad) return std::nullopt;
    return "no kernel image";
  };
  Execution run;
  CHECK_THROWS_WITH_AS(
      DeviceExecutor(backend).run(scene.graph, plan, run),
      doctest::Contains(("task " + scene.graph.name(bad) + " failed: no kernel image").c_str()),
      ExecutionError);
  CHECK(backend.runs_begun() == 1);
  CHECK(backend.runs_ended() == 1);
  CHECK(run.plan == plan);
  CHECK_FALSE(run.trace.hosts.empty());

  backend.failure = nullptr;
  DeviceExecutor(backend).run(scene.graph, plan, run);
  CHECK(backend.runs_ended() == 2);
}

TEST_CASE("an error that comes later names the tasks that are not known to be complete") {
  const TwoStreams scene;
  RecordingBackend backend(two_levels());
  // Not the wait before time 0: the one at the end of the run.
  backend.failure = [&](HostCall call) -> std::optional<std::string> {
    const bool last = call == HostCall::synchronize_all() && backend.calls().size() > 4;
    return last ? std::optional<std::string>{"illegal address"} : std::nullopt;
  };
  Execution run;
  std::string message;
  try {
    DeviceExecutor(backend).run(scene.graph, scene.plan, run);
  } catch (const ExecutionError& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("illegal address") == 0);
  // The host has waited for the event behind task 0, and for nothing else.
  CHECK(message.find(scene.graph.name(TaskId{0})) == std::string::npos);
  CHECK(message.find(scene.graph.name(TaskId{1})) != std::string::npos);
  CHECK(message.find(scene.graph.name(TaskId{2})) != std::string::npos);
}

TEST_CASE("with debug_sync an error belongs to the task that was just launched") {
  const TwoStreams scene;
  RecordingBackend backend(two_levels());
  backend.failure = [&](HostCall call) -> std::optional<std::string> {
    return call == HostCall::synchronize_stream(StreamId{1})
               ? std::optional<std::string>{"illegal address"}
               : std::nullopt;
  };
  Execution run;
  CHECK_THROWS_WITH_AS(
      DeviceExecutor(backend, {.debug_sync = true}).run(scene.graph, scene.plan, run),
      ("task " + scene.graph.name(TaskId{2}) + " failed: illegal address").c_str(),
      ExecutionError);
}

TEST_CASE("an error while nothing runs is the device's and blames no task") {
  const TwoStreams scene;
  RecordingBackend backend(two_levels());
  backend.failure = [](HostCall call) -> std::optional<std::string> {
    return call.kind() == HostCallKind::create_stream ? std::optional<std::string>{"out of streams"}
                                                      : std::nullopt;
  };
  Execution run;
  CHECK_THROWS_WITH_AS(
      DeviceExecutor(backend).run(scene.graph, scene.plan, run), "out of streams", DeviceError);
  CHECK(backend.runs_ended() == 1);
}

TEST_CASE("a graph that the device holds otherwise than the plan is refused with node and task") {
  const Scene scene = grid();
  const Plan plan = capture_graphs(make_policy("diagonal")->plan(scene.problem()));
  RecordingBackend backend(two_levels());
  Execution run;
  const auto refused = [&](const char* text) {
    CHECK_THROWS_WITH_AS(
        DeviceExecutor(backend).run(scene.graph, plan, run), doctest::Contains(text), DeviceError);
  };
  backend.loaded_rule = [](std::vector<LoadedNode>& nodes) { nodes.pop_back(); };
  refused("the device holds 11 nodes, the plan has 12");
  backend.loaded_rule = [](std::vector<LoadedNode>& nodes) { nodes[1].needs.clear(); };
  refused("node 1 (task ");
  backend.loaded_rule = [](std::vector<LoadedNode>& nodes) { nodes[2].priority = -7; };
  refused("its priority on the device is -7, asked for 0");
  // Copies have no priority, and a task that runs nothing hands its needs on.
  backend.loaded_rule = [&](std::vector<LoadedNode>& nodes) {
    nodes[0].priority.reset();
    nodes[1] = {.parts = 0, .priority = std::nullopt, .needs = {}};
    for (std::size_t node = 2; node < nodes.size(); ++node) {
      auto& needs = nodes[node].needs;
      if (std::erase(needs, 1U) > 0) {
        const auto through = plan.graphs[0].needs(1);
        needs.insert(needs.end(), through.begin(), through.end());
        std::sort(needs.begin(), needs.end());
        needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
      }
    }
  };
  CHECK_NOTHROW(DeviceExecutor(backend).run(scene.graph, plan, run));
}

TEST_CASE("what one device with one host cannot run is refused before anything is asked of it") {
  RecordingBackend backend(two_levels());
  Execution run;
  TwoStreams other_device;
  other_device.plan.streams[StreamId{1}].device = DeviceId{1};
  CHECK_THROWS_WITH_AS(DeviceExecutor(backend).run(other_device.graph, other_device.plan, run),
                       "the device executor runs one device: stream 1 is on device 1",
                       InfeasibleError);
  TwoStreams two_hosts;
  two_hosts.plan.hosts.push_back({});
  CHECK_THROWS_WITH_AS(DeviceExecutor(backend).run(two_hosts.graph, two_hosts.plan, run),
                       doctest::Contains("nothing is moved between devices"),
                       InfeasibleError);
  CHECK(backend.runs_begun() == 0);
}

TEST_CASE("a stop flag ends the run") {
  const TwoStreams scene;
  RecordingBackend backend(two_levels());
  StopFlag stop{false};
  backend.failure = [&](HostCall call) -> std::optional<std::string> {
    if (call.kind() == HostCallKind::record) stop = true;
    return std::nullopt;
  };
  Execution run;
  CHECK_THROWS_AS(DeviceExecutor(backend, {.stop = &stop}).run(scene.graph, scene.plan, run),
                  Interrupted);
  CHECK(run.trace.hosts.size() == 2);  // the launch and the record
  CHECK(backend.runs_ended() == 1);
}

TEST_CASE("an observer is told of every launch, node and graph") {
  const Scene scene = grid();
  const Plan plan = make_policy("diagonal")->plan(scene.problem());
  RecordingBackend backend(two_levels());
  CountingObserver eager;
  Execution run;
  DeviceExecutor(backend, {.observer = &eager}).run(scene.graph, plan, run);
  CHECK(eager.open.size() == scene.graph.task_count());
  CHECK(eager.open == eager.closed);
  CHECK(eager.nodes.empty());

  CountingObserver captured;
  DeviceExecutor(backend, {.observer = &captured}).run(scene.graph, capture_graphs(plan), run);
  CHECK(captured.open.empty());
  CHECK(captured.nodes.size() == scene.graph.task_count());
  CHECK(captured.graphs == 1);
}

TEST_CASE("the front end's time is spent before each launch, and on nothing else") {
  const TwoStreams scene;
  RecordingBackend backend(two_levels());
  const Duration front_end = std::chrono::milliseconds{1};
  Execution run;
  DeviceExecutor(backend, {.front_end = front_end}).run(scene.graph, scene.plan, run);
  for (const HostSpan& span : run.trace.hosts) {
    // Tasks of one kernel each.
    if (span.what.kind() == HostCallKind::launch) CHECK(span.ended - span.started >= front_end);
  }
  // Three launches, and three calls that take no such time.
  CHECK(run.trace.makespan() >= 3 * front_end);
}

TEST_CASE("times of tasks become spans on the plan's streams, no later submitted than started") {
  const TwoStreams scene;
  RecordingBackend backend(two_levels());
  const auto at = [](std::int64_t us) { return Time{std::chrono::microseconds{us}}; };
  // Task 0 starts at once, so before its launch has returned by the host's clock.
  backend.times = {{TaskId{2}, at(5'000'000), at(7'000'000)},
                   {TaskId{0}, at(0), at(2'000'000)},
                   {TaskId{1}, at(2'000'000), at(6'000'000)}};
  Execution run;
  DeviceExecutor(backend, {.timing = TaskTiming::events}).run(scene.graph, scene.plan, run);
  REQUIRE(run.trace.tasks.size() == 3);
  CHECK(run.trace.tasks[0].task == TaskId{0});  // in launch order
  CHECK(run.trace.tasks[0].submitted == at(0));
  CHECK(run.trace.tasks[1].stream == StreamId{0});
  CHECK(run.trace.tasks[2].stream == StreamId{1});
  CHECK(run.trace.tasks[2].submitted == run.trace.hosts[4].ended);
  CHECK(run.trace.tasks[2].duration() == std::chrono::seconds{2});
  CHECK(run.trace.ended == at(7'000'000));

  DeviceExecutor(backend, {.timing = TaskTiming::profiler}).run(scene.graph, scene.plan, run);
  CHECK(run.trace.tasks.empty());
  set_task_times(run, backend.times);
  CHECK(run.trace.tasks.size() == 3);
  const std::vector<TaskTime> twice{backend.times[0], backend.times[0]};
  CHECK_THROWS_AS(set_task_times(run, twice), ContractViolation);
  const std::vector<TaskTime> unknown{{TaskId{9}, at(0), at(1)}};
  CHECK_THROWS_AS(set_task_times(run, unknown), ContractViolation);
}
