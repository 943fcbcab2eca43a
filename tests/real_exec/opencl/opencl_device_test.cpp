// SPDX-License-Identifier: Apache-2.0
// On an OpenCL device of this computer, of any vendor; skipped where there is none.
#include "tests/real_exec/opencl/opencl_device.hpp"

#include "policies/registry.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::opencl_missing;
using schedlab::testing::Scene;

namespace {

Kernel kernel_of(TaskKind kind, std::int64_t bytes) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.bytes_read = Bytes{bytes};
  kernel.bytes_written = Bytes{bytes};
  return kernel;
}

/// A diamond of tasks of every kind: two chains between a first and a last task.
TaskGraph kinds() {
  TaskGraphBuilder builder;
  Kernel batch = gemm_kernel(32, 48, 16, DataType::fp32, false);
  batch.flops = 3 * batch.flops;  // three products side by side
  Kernel reduction = kernel_of(TaskKind::reduction, 4096);
  reduction.bytes_written = Bytes{64};
  const auto task = [&](const Operation& operation) {
    return builder.add_task(builder.add_operation(operation));
  };
  const TaskId first =
      task({.name = "in", .kernels = {kernel_of(TaskKind::copy_host_to_device, 1000)}});
  const TaskId last =
      task({.name = "out", .kernels = {kernel_of(TaskKind::copy_device_to_host, 1000)}});
  const std::vector<std::vector<Operation>> chains{
      {{.name = "product", .kind = TaskKind::gemm, .kernels = {batch}},
       {.name = "pointwise", .kernels = {kernel_of(TaskKind::pointwise, 4000)}},
       {.name = "fixed", .fixed_duration = std::chrono::microseconds{200}}},
      {{.name = "over", .kernels = {kernel_of(TaskKind::copy_device_to_device, 1000)}},
       {.name = "sum", .kernels = {reduction}},
       {.name = "two",
        .kernels = {gemm_kernel(16, 16, 16, DataType::tf32, false),
                    kernel_of(TaskKind::pointwise, 100)}}}};
  for (const auto& chain : chains) {
    TaskId before = first;
    for (const Operation& operation : chain) {
      const TaskId made = task(operation);
      builder.add_edge(before, made);
      before = made;
    }
    builder.add_edge(before, last);
  }
  return std::move(builder).build();
}

/// Every task has a time, and begins after all that it needs have ended.
void check_order(const TaskGraph& graph, const Trace& trace) {
  REQUIRE(trace.tasks.size() == graph.task_count());
  IdVector<TaskId, const TaskSpan*> spans(graph.task_count(), nullptr);
  for (const TaskSpan& span : trace.tasks) spans[span.task] = &span;
  for (const TaskId task : graph.tasks()) {
    REQUIRE(spans[task] != nullptr);
    CHECK(spans[task]->ended >= spans[task]->started);
    for (const TaskId needed : graph.predecessors(task)) {
      CHECK_MESSAGE(spans[task]->started >= spans[needed]->ended,
                    graph.name(needed) << " before " << graph.name(task));
    }
  }
}

}  // namespace

TEST_CASE("every kind of kernel runs on queues, in the order that the graph asks for") {
  if (opencl_missing()) return;
  OpenClExecutor executor({.run = {.timing = TaskTiming::events}});
  const Scene scene(kinds());
  for (const ProxyKernels kernels : {ProxyKernels::shapes, ProxyKernels::spin}) {
    OpenClProxyWork work(executor, scene.graph, scene.costs, kernels);
    for (const char* policy : {"single_stream", "heft", "critical_first"}) {
      CAPTURE(policy);
      const Plan plan = make_policy(policy)->plan(scene.problem());
      for (int run = 0; run < 2; ++run) {
        Execution execution;
        executor.run(scene.graph, plan, work, execution);
        check_order(scene.graph, execution.trace);
      }
    }
  }
}

TEST_CASE("a random graph keeps its order under every way of spreading it over queues") {
  if (opencl_missing()) return;
  OpenClExecutor executor({.run = {.timing = TaskTiming::events}});
  const Scene scene(schedlab::testing::random_dag(7, 40, 0.1), Rng{7});
  OpenClProxyWork work(executor, scene.graph, scene.costs, ProxyKernels::spin);
  for (const char* policy : {"heft", "bottom_level", "critical_first"}) {
    CAPTURE(policy);
    Execution execution;
    executor.run(scene.graph, make_policy(policy)->plan(scene.problem()), work, execution);
    check_order(scene.graph, execution.trace);
  }
}

TEST_CASE("device graphs of our own kernels run, again and again") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  if (!executor.facts().device_graphs) {
    testing::skip("the OpenCL device has no command buffers of kernels out of order");
    return;
  }
  const Scene scene(schedlab::testing::random_dag(7, 40, 0.1), Rng{7});
  OpenClProxyWork work(executor, scene.graph, scene.costs, ProxyKernels::spin);
  for (const char* policy : {"single_stream", "heft"}) {
    CAPTURE(policy);
    const Plan plan = make_policy(policy)->plan(scene.problem());
    for (int run = 0; run < 2; ++run) {
      Execution execution;
      executor.run(scene.graph, capture_graphs(plan), work, execution);
      CHECK(execution.trace.hosts.size() == execution.plan.hosts[HostId{0}].calls.size());
    }
  }
}

TEST_CASE(
    "device graphs, and products of types that the device lacks, are refused with the reason") {
  if (opencl_missing()) return;
  OpenClExecutor executor;
  const Scene scene(kinds());
  OpenClProxyWork work(executor, scene.graph, scene.costs);
  const Plan plan = make_policy("single_stream")->plan(scene.problem());
  Execution execution;
  CHECK_THROWS_WITH_AS(
      executor.run(scene.graph, capture_graphs(plan), work, execution),
      doctest::Contains(executor.facts().device_graphs ? "cannot be recorded into a command buffer"
                                                       : "it has no command buffers"),
      InfeasibleError);
  TaskGraphBuilder builder;
  builder.add_task(
      builder.add_operation({.name = "low",
                             .kind = TaskKind::gemm,
                             .kernels = {gemm_kernel(8, 8, 8, DataType::bf16, false)}}));
  const Scene low(std::move(builder).build());
  CHECK_THROWS_WITH_AS(OpenClProxyWork(executor, low.graph, low.costs),
                       doctest::Contains("operation low: products on OpenCL devices are in fp32"),
                       InfeasibleError);
}

TEST_CASE("without a device of that number, or without a loader, the reason is given") {
  const OpenClDevices none = opencl_devices("libno_such_loader.so.1");
  CHECK(none.devices.empty());
  CHECK(!none.reason.empty());
  if (none.reason.find("built without OpenCL") != std::string::npos) {
    CHECK_THROWS_WITH_AS(OpenClExecutor(OpenClExecutorOptions{}), none.reason.c_str(), DeviceError);
    return;
  }
  CHECK(none.reason.find("libno_such_loader.so.1") != std::string::npos);
  CHECK_THROWS_WITH_AS(OpenClExecutor({.library = "libno_such_loader.so.1"}),
                       doctest::Contains("OpenCL cannot be loaded"),
                       DeviceError);
  if (opencl_missing()) return;
  CHECK_THROWS_WITH_AS(
      OpenClExecutor({.device = 1000}), doctest::Contains("no OpenCL device 1000"), DeviceError);
}
