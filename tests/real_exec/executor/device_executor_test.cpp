// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/device_executor.hpp"

#include "policies/registry.hpp"
#include "real_exec/executor/recording_backend.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/executor/recorded_order.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::RecordedOrder;
using schedlab::testing::Scene;

namespace {

/// Six levels, as large devices have them.
DeviceProperties six_levels() {
  return {.name = "recorded", .least_priority = 0, .greatest_priority = -5};
}

TaskGraph training(Granularity granularity) {
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 4;
  spec.batch = 2;
  spec.hidden = 8;
  spec.pass = RecurrentPass::training;
  spec.granularity = granularity;
  return recurrent(spec);
}

/// The plan's calls as a backend sees them.
std::vector<HostCall> device_calls(const Plan& plan) {
  std::vector<HostCall> calls;
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    const HostCallKind kind = call.kind();
    if (kind != HostCallKind::sleep && kind != HostCallKind::graph_load) calls.push_back(call);
  }
  return calls;
}

/// What a backend was asked for between the start of the clock and the executor's own last wait.
std::vector<HostCall> calls_in_run(const RecordingBackend& backend) {
  const auto& calls = backend.calls();
  REQUIRE_FALSE(calls.empty());
  CHECK(calls.back() == HostCall::synchronize_all());
  return {calls.begin() + static_cast<std::ptrdiff_t>(backend.calls_before_start()),
          calls.end() - 1};
}

/// Dependencies of the graph that the calls do not imply.
std::size_t unordered_edges(const TaskGraph& graph, const RecordingBackend& backend) {
  const RecordedOrder order(backend, graph.task_count());
  std::size_t unordered = 0;
  for (const TaskId task : graph.tasks()) {
    for (const TaskId needed : graph.predecessors(task)) unordered += !order.before(needed, task);
  }
  return unordered;
}

/// What the policy decides, made or recorded in the simulator.
Plan plan_of(const Policy& policy, const Scene& scene) {
  if (const auto online = policy.online(scene.problem())) {
    return Simulator{}.record(scene.problem(), *online).plan;
  }
  return policy.plan(scene.problem());
}

/// All that need no file.
std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policies()) {
    if (info.name != "plan_file" && !info.for_ranks) names.push_back(info.name);
  }
  return names;
}

}  // namespace

TEST_CASE("a backend gets the plan's calls in the plan's order, whoever made the plan") {
  for (const std::string& name : policy_names()) {
    CAPTURE(name);
    const auto policy = make_policy(name);
    const Scene scene(training(policy->granularity()), Rng{3});
    const Plan plan = plan_of(*policy, scene);
    RecordingBackend backend(six_levels());
    // Of a plan the recorded answers decide nothing; here the device answers as they say.
    std::vector<bool> answers;
    for (const HostCall call : device_calls(plan)) {
      if (call.kind() == HostCallKind::query) answers.push_back(call.answer().value_or(true));
    }
    backend.idle_rule = [&](StreamId, std::size_t query) { return answers.at(query); };
    Execution run;
    DeviceExecutor(backend).run(scene.graph, plan, run);
    CHECK(calls_in_run(backend) == device_calls(plan));
    CHECK(run.plan == plan);
    CHECK(run.trace.tasks.empty());
    CHECK(run.trace.hosts.size() == plan.hosts[HostId{0}].calls.size());
    CHECK(run.trace.makespan() >= run.trace.hosts.back().ended.time_since_epoch());
    CHECK(unordered_edges(scene.graph, backend) == 0);
  }
}

TEST_CASE("streams, events and graphs keep every dependency, eager and captured") {
  for (const std::string& name : policy_names()) {
    CAPTURE(name);
    const auto policy = make_policy(name);
    const Scene scene(training(policy->granularity()), Rng{4});
    const Plan captured = capture_graphs(plan_of(*policy, scene));
    RecordingBackend backend(six_levels());
    Execution run;
    DeviceExecutor(backend).run(scene.graph, captured, run);
    CHECK(unordered_edges(scene.graph, backend) == 0);
    CHECK(calls_in_run(backend) == device_calls(captured));
  }
}

TEST_CASE("the order that the tests look for finds a wait that is missing") {
  const Scene scene(training(Granularity::fine), Rng{5});
  Plan plan = make_policy("diagonal")->plan(scene.problem());
  auto& calls = plan.hosts[HostId{0}].calls;
  std::erase_if(calls, [](HostCall call) { return call.kind() == HostCallKind::wait; });
  RecordingBackend backend(six_levels());
  Execution run;
  DeviceExecutor(backend).run(scene.graph, plan, run);
  CHECK(unordered_edges(scene.graph, backend) > 0);
}

TEST_CASE("random plans with queries, host waits and streams made on the way keep their order") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const TaskGraph graph = test::random_graph(seed);
    const Plan plan = test::random_plan(graph, seed, 5, true);
    RecordingBackend backend(six_levels());
    backend.idle_rule = [&](StreamId stream, std::size_t query) {
      return (stream.value() + query + seed) % 3 == 0;
    };
    Execution run;
    DeviceExecutor(backend).run(graph, plan, run);
    CHECK(unordered_edges(graph, backend) == 0);
  }
}

TEST_CASE("priorities are the plan's, clamped to the device's range") {
  const TaskGraph graph = schedlab::testing::gradient_grid(1, 4);
  Plan plan;
  plan.streams.push_back({.priority = 0});
  plan.streams.push_back({.priority = -2});
  plan.streams.push_back({.priority = -9, .sync = StreamSync::blocking});
  plan.streams.push_back({.priority = 3});
  auto& calls = plan.hosts[HostId{0}].calls;
  for (const TaskId task : graph.tasks()) calls.push_back(HostCall::launch(StreamId{0}, task));
  for (const int greatest : {-5, -1}) {
    RecordingBackend backend({.name = "recorded", .greatest_priority = greatest});
    Execution run;
    DeviceExecutor(backend).run(graph, plan, run);
    const auto& streams = backend.streams();
    CHECK(streams[StreamId{0}].priority == 0);
    CHECK(streams[StreamId{1}].priority == std::max(-2, greatest));
    CHECK(streams[StreamId{2}].priority == greatest);
    CHECK(streams[StreamId{2}].sync == StreamSync::blocking);
    CHECK(streams[StreamId{3}].priority == 0);
  }
}

TEST_CASE("a captured plan gives the device the graph's nodes, needs and priorities") {
  const Scene scene(training(Granularity::fine), Rng{6});
  const Plan eager = plan_of(*make_policy("critical_first"), scene);
  for (const bool node_priorities : {true, false}) {
    const Plan plan = capture_graphs(eager, {.load = true, .node_priorities = node_priorities});
    RecordingBackend backend(six_levels());
    Execution run;
    DeviceExecutor(backend).run(scene.graph, plan, run);
    std::size_t rows = 0;
    for (const DeviceGraph& graph : plan.graphs) rows += graph.launch_count();
    REQUIRE(backend.rows().size() == rows);
    std::vector<StreamId> launched;
    for (const HostCall call : plan.hosts[HostId{0}].calls) {
      if (call.kind() == HostCallKind::graph_launch) launched.push_back(call.stream());
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const RecordingBackend::Row& row = backend.rows()[i];
      const DeviceGraph& graph = plan.graphs[row.graph];
      REQUIRE(row.tasks.size() == graph.node_count());
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        CHECK(row.tasks[node] == graph.task(row.row, node));
        CHECK(row.needs[node].size() == graph.needs(node).size());
        CHECK(
            std::equal(row.needs[node].begin(), row.needs[node].end(), graph.needs(node).begin()));
        const StreamId stream = node_priorities ? graph.stream(node) : launched[i];
        CHECK(row.priorities[node] == plan.streams[stream].priority);
      }
    }
  }
}

TEST_CASE("policies decide as in the simulator when the device answers as it does") {
  std::size_t queries = 0;
  for (const std::string& name : policy_names()) {
    const auto policy = make_policy(name);
    const Scene scene(training(policy->granularity()), Rng{8});
    const auto in_simulator = policy->online(scene.problem());
    if (in_simulator == nullptr) continue;
    CAPTURE(name);
    const Plan expected = Simulator{}.record(scene.problem(), *in_simulator).plan;
    std::vector<bool> answers;
    for (const HostCall call : expected.hosts[HostId{0}].calls) {
      if (call.kind() == HostCallKind::query) answers.push_back(call.answer().value());
    }
    queries += answers.size();
    RecordingBackend backend(six_levels());
    backend.idle_rule = [&](StreamId, std::size_t query) { return answers.at(query); };
    const auto online = policy->online(scene.problem());
    Execution run;
    DeviceExecutor(backend).run(scene.problem(), *online, run);
    CHECK(run.plan == expected);
    CHECK(unordered_edges(scene.graph, backend) == 0);
  }
  CHECK(queries > 0);
}
