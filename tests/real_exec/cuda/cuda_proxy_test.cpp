// SPDX-License-Identifier: Apache-2.0
// Proxy kernels on CUDA devices. Built twice, as cuda_recurrent_test.cpp.
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/cuda/cuda_device.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::device_missing;
using schedlab::testing::Scene;

namespace {

Kernel kernel_of(TaskKind kind, std::int64_t bytes) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.bytes_read = Bytes{bytes};
  kernel.bytes_written = Bytes{bytes};
  return kernel;
}

/// A chain of one task of each kind.
TaskGraph kinds() {
  TaskGraphBuilder builder;
  Kernel batch = gemm_kernel(32, 48, 16, DataType::fp32, false);
  batch.flops = 3 * batch.flops;  // three products side by side
  Kernel reduction = kernel_of(TaskKind::reduction, 4096);
  reduction.bytes_written = Bytes{64};
  const std::vector<Operation> operations{
      {.name = "product", .kind = TaskKind::gemm, .kernels = {batch}},
      {.name = "in", .kernels = {kernel_of(TaskKind::copy_host_to_device, 1000)}},
      {.name = "out", .kernels = {kernel_of(TaskKind::copy_device_to_host, 1000)}},
      {.name = "over", .kernels = {kernel_of(TaskKind::copy_device_to_device, 1000)}},
      {.name = "pointwise", .kernels = {kernel_of(TaskKind::pointwise, 4000)}},
      {.name = "sum", .kernels = {reduction}},
      {.name = "low",
       .kernels = {gemm_kernel(16, 16, 16, DataType::bf16, false),
                   kernel_of(TaskKind::pointwise, 100)}},
      {.name = "fixed", .fixed_duration = std::chrono::microseconds{50}}};
  TaskId before;
  for (const Operation& operation : operations) {
    const TaskId task = builder.add_task(builder.add_operation(operation));
    if (before.valid()) builder.add_edge(before, task);
    before = task;
  }
  return std::move(builder).build();
}

/// `blocks` blocks of `threads` threads that spin.
TaskGraph spinning(std::uint32_t blocks, std::uint16_t threads, std::uint32_t shared_memory) {
  TaskGraphBuilder builder;
  Kernel kernel;
  kernel.grid = {.blocks = blocks,
                 .block = {.threads = threads, .registers = 0, .shared_memory = shared_memory}};
  const OperationId operation = builder.add_operation(
      {.name = "spin", .kernels = {kernel}, .fixed_duration = std::chrono::microseconds{100}});
  builder.add_task(operation);
  builder.add_task(operation);
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("kernels of every kind are launched, eager and as a graph") {
  if (device_missing()) return;
  CudaExecutor executor({.run = {.timing = TaskTiming::events}});
  const Scene scene(kinds());
  const Plan plan = make_policy("single_stream")->plan(scene.problem());
  for (const ProxyKernels kernels : {ProxyKernels::shapes, ProxyKernels::spin}) {
    CudaProxyWork work(executor, scene.graph, scene.costs, {.kernels = kernels});
    for (const Plan& each : {plan, capture_graphs(plan)}) {
      Execution run;
      executor.run(scene.graph, each, work, run);
      CHECK(run.trace.tasks.size() == scene.graph.task_count());
    }
  }
}

TEST_CASE("blocks that spin leave a record each, of the unit they ran on") {
  if (device_missing()) return;
  CudaExecutor executor;
  const Scene scene(spinning(6, 256, 0), std::chrono::microseconds{100});
  CudaProxyWork work(
      executor, scene.graph, scene.costs, {.kernels = ProxyKernels::spin, .record_blocks = true});
  Execution run;
  executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run);
  const std::vector<CudaBlockRecord> records = work.block_records();
  REQUIRE(records.size() == 12);
  for (const CudaBlockRecord& record : records) {
    CHECK(record.unit < executor.properties().units);
    // One wave: each block spins for the whole of 100 us, as the clock was measured.
    const auto ns = static_cast<double>(record.ended_ns - record.started_ns);
    CHECK(ns == doctest::Approx(100'000).epsilon(0.2));
  }
}

TEST_CASE("a block that fits on no multiprocessor is refused with its operation") {
  if (device_missing()) return;
  const CudaExecutor executor;
  const Scene scene(spinning(1, 2000, 0), std::chrono::microseconds{1});
  CHECK_THROWS_WITH_AS(
      CudaProxyWork(executor, scene.graph, scene.costs, {.kernels = ProxyKernels::spin}),
      doctest::Contains("operation spin: a block of 2000 threads"),
      InfeasibleError);
}
