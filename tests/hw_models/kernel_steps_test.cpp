// SPDX-License-Identifier: Apache-2.0
#include "hw_models/kernel_steps.hpp"

#include "policies/registry.hpp"
#include "sim/plan/plan_builder.hpp"
#include "tests/hw_models/synthetic_profile.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace schedlab {
namespace {

using testing::synthetic_profile;
using testing::with_blocks;

constexpr Duration gap = std::chrono::nanoseconds{500};

/// Two cores, on which kernels take what the made-up profile says, and nothing else takes time.
Platform two_cores() {
  Platform platform;
  platform.sharing = SharingModel::fluid;
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({.name = "core", .count = 2}));
  device.stream_gap = gap;
  device.graph_node_gap = gap;
  device.priority_levels = 8;
  device.rates.matrix_units = 2;
  device.rates.vector_units = 2;
  KernelProfile profile = synthetic_profile(0.0);
  profile.cut = {.flops_per_block = 1e5, .bytes_per_block = 1e5};
  device.profile = std::make_shared<const KernelProfile>(std::move(profile));
  return platform;
}

/// Two tasks of two equal kernels each, every kernel on both cores.
TaskGraph two_pairs() {
  const Kernel kernel = with_blocks(hidden_2_kernel({.batch = 32, .hidden = 256, .width = 256}), 2);
  TaskGraphBuilder builder;
  const OperationId pair = builder.add_operation(
      {.name = "pair", .kind = TaskKind::composite, .kernels = {kernel, kernel}});
  builder.add_task(pair);
  builder.add_task(pair);
  return std::move(builder).build();
}

TaskGraph coarse_lstm(const Platform& platform) {
  const TaskGraph whole = lstm(
      {.layers = 3, .steps = 4, .batch = 32, .hidden = 256, .granularity = Granularity::coarse});
  return CutKernels::for_device(platform.devices[DeviceId{0}])->apply(whole);
}

Duration makespan(const KernelSteps* steps, const Problem& problem, const Plan& plan) {
  Simulator simulator;
  Trace trace;
  run_by_kernel(simulator, steps, problem, plan, {}, trace);
  return trace.makespan();
}

}  // namespace

TEST_CASE("kernel by kernel: alone a task takes as long as its one estimate says") {
  const Platform platform = two_cores();
  const Measured model;
  const TaskGraph graph = coarse_lstm(platform);
  const CostTable costs{graph, platform, model};
  const auto steps = KernelSteps::of(graph, platform, costs, model);
  REQUIRE(steps != nullptr);
  CHECK(steps->graph().task_count() > graph.task_count());
  const Problem problem{graph, platform, costs};
  const Plan plan = make_policy("single_stream")->plan(problem);
  CHECK(makespan(steps.get(), {steps->graph(), platform, steps->costs()}, plan) ==
        makespan(nullptr, problem, plan));
  CHECK(steps->folded(steps->costs().durations(), gap) == costs.durations());
}

TEST_CASE("kernel by kernel: the pause between two kernels of a task is another stream's") {
  const Platform platform = two_cores();
  const Measured model;
  const TaskGraph graph = two_pairs();
  const CostTable costs{graph, platform, model};
  const auto steps = KernelSteps::of(graph, platform, costs, model);
  REQUIRE(steps != nullptr);
  const Duration kernel = steps->costs().duration(TaskId{0});
  REQUIRE(kernel > gap);
  Plan plan;
  plan.streams.resize(2);
  plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, TaskId{0}),
                                 HostCall::launch(StreamId{1}, TaskId{1})};
  // Whole: one task after the other, each of two kernels and the gap between them.
  CHECK(makespan(nullptr, {graph, platform, costs}, plan) == 2 * (2 * kernel + gap));
  // By kernels: first, first, second, second; each gap passes while the other stream's kernel runs.
  const Problem problem{steps->graph(), platform, steps->costs()};
  CHECK(makespan(steps.get(), problem, plan) == 4 * kernel);
  Simulator simulator;
  Trace trace;
  run_by_kernel(simulator, steps.get(), problem, plan, {.record_hosts = true}, trace);
  REQUIRE(trace.tasks.size() == 2);
  CHECK(trace.tasks[0].task == TaskId{0});
  CHECK(trace.tasks[0].started == Time{});
  CHECK(trace.tasks[0].duration() == 3 * kernel);
  CHECK(trace.tasks[1].started == Time{kernel});
  REQUIRE(trace.hosts.size() == 2);
  CHECK(trace.hosts[1].call == 1);
  CHECK(trace.hosts[1].what == plan.hosts[HostId{0}].calls[1]);
}

TEST_CASE("kernel by kernel: plans come back from their steps as they were") {
  const Platform platform = two_cores();
  const Measured model;
  const TaskGraph graph = coarse_lstm(platform);
  const CostTable costs{graph, platform, model};
  const Problem problem{graph, platform, costs};
  const auto steps = KernelSteps::of(graph, platform, costs, model);
  REQUIRE(steps != nullptr);
  const Plan plan = make_policy("diagonal")->plan(problem);
  const Plan expanded = steps->expanded(plan);
  CHECK(expanded.count(HostCallKind::launch) == steps->graph().task_count());
  CHECK(steps->folded(expanded) == plan);
}

TEST_CASE("kernel by kernel: what an online policy decides runs again to the same trace") {
  const Platform platform = two_cores();
  const Measured model;
  const TaskGraph graph = coarse_lstm(platform);
  const CostTable costs{graph, platform, model};
  const auto steps = KernelSteps::of(graph, platform, costs, model);
  REQUIRE(steps != nullptr);
  const auto online = make_policy("critical_first")->online({graph, platform, costs});
  REQUIRE(online != nullptr);
  const Problem by_step{steps->graph(), platform, steps->costs()};
  const SimulationOptions options{.record_hosts = true, .record_flows = true};
  Simulator simulator;
  Simulator::Recording recording;
  record_by_kernel(simulator, steps.get(), by_step, *online, options, recording);
  CHECK(recording.plan.count(HostCallKind::launch) == graph.task_count());
  Trace again;
  run_by_kernel(simulator, steps.get(), by_step, recording.plan, options, again);
  CHECK(again == recording.trace);
}

TEST_CASE("kernel by kernel: nodes of a device graph become chains of nodes") {
  const Platform platform = two_cores();
  const Measured model;
  const TaskGraph graph = two_pairs();
  const CostTable costs{graph, platform, model};
  const auto steps = KernelSteps::of(graph, platform, costs, model);
  REQUIRE(steps != nullptr);
  Plan plan;
  plan.streams.resize(1);
  DeviceGraph nodes;
  const std::uint32_t first = nodes.add_node(StreamId{0}, {});
  nodes.add_node(StreamId{0}, {first});
  const std::vector<TaskId> tasks{TaskId{0}, TaskId{1}};
  nodes.add_launch(tasks);
  plan.graphs = {nodes};
  plan.hosts[HostId{0}].calls = {HostCall::graph_launch(StreamId{0}, 0)};
  const Plan expanded = steps->expanded(plan);
  CHECK(expanded.graphs[0].node_count() == 4);
  CHECK(expanded.graphs[0].edge_count() == 3);
  // One after the other as before: four kernels and a gap between each two.
  const Duration kernel = steps->costs().duration(TaskId{0});
  CHECK(makespan(steps.get(), {steps->graph(), platform, steps->costs()}, plan) ==
        4 * kernel + 3 * gap);
}

TEST_CASE("kernel by kernel: tasks of one kernel have no steps of their own") {
  const Platform platform = two_cores();
  const TaskGraph fine =
      lstm({.layers = 2, .steps = 2, .batch = 32, .hidden = 256, .granularity = Granularity::fine});
  const Measured model;
  const CostTable costs{fine, platform, model};
  CHECK(KernelSteps::of(fine, platform, costs, model) == nullptr);
}

}  // namespace schedlab
