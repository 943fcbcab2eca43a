// SPDX-License-Identifier: Apache-2.0
// Bad days of an OpenCL device, on a driver that fails where it is told to (fake_driver.cpp).
#include "policies/registry.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/opencl/good_driver.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

const std::string library = SCHEDLAB_FAKE_OPENCL;

FakeDriver& good_driver() {
  return good_fake_driver(library);
}

OpenClExecutorOptions options(TaskTiming timing = TaskTiming::none) {
  return {.library = library, .run = {.timing = timing}};
}

/// Three kernels in a row, without a product: CLBlast would ask for the real loader.
TaskGraph three_kernels() {
  TaskGraphBuilder builder;
  Kernel kernel;
  kernel.kind = TaskKind::pointwise;
  kernel.bytes_read = Bytes{4096};
  kernel.bytes_written = Bytes{4096};
  TaskId before;
  for (const char* name : {"first", "second", "third"}) {
    const TaskId task = builder.add_task(
        builder.add_operation({.name = name, .kind = TaskKind::pointwise, .kernels = {kernel}}));
    if (before.valid()) builder.add_edge(before, task);
    before = task;
  }
  return std::move(builder).build();
}

struct Run {
  Scene scene{three_kernels()};
  OpenClExecutor executor;
  OpenClProxyWork work;
  Execution execution;

  explicit Run(TaskTiming timing = TaskTiming::none)
      : executor(options(timing)), work(executor, scene.graph, scene.costs) {}
  void operator()() {
    executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, execution);
  }
};

}  // namespace

TEST_CASE("on a good day all handles are given back") {
  const FakeDriver& driver = good_driver();
  {
    Run run(TaskTiming::events);
    run();
    run();
    CHECK(run.execution.trace.tasks.size() == 3);
    CHECK(driver.live_objects > 0);
  }
  CHECK(driver.live_objects == 0);
}

TEST_CASE("no driver, no device, one that is not available: what to do is said") {
  FakeDriver& driver = good_driver();
  driver.failing_call = "clGetPlatformIDs";
  driver.failing_status = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  CHECK(opencl_devices(library).reason.find("pocl-opencl-icd") != std::string::npos);
  driver.failing_call = "clGetDeviceIDs";
  driver.failing_status = -1;  // CL_DEVICE_NOT_FOUND
  CHECK(opencl_devices(library).reason.find("no OpenCL device") != std::string::npos);
  driver = {};
  driver.available = false;
  CHECK_THROWS_WITH_AS(
      OpenClExecutor{options()}, doctest::Contains("(fake device) is not available"), DeviceError);
  CHECK(driver.live_objects == 0);
}

TEST_CASE("kernels that do not compile come with the compiler's own words") {
  FakeDriver& driver = good_driver();
  driver.failing_call = "clBuildProgram";
  driver.failing_status = -11;
  CHECK_THROWS_WITH_AS(OpenClExecutor{options()},
                       doctest::Contains("CL_BUILD_PROGRAM_FAILURE (-11)\nline 7: no such thing"),
                       DeviceError);
  CHECK(driver.live_objects == 0);
}

TEST_CASE("memory that runs out") {
  FakeDriver& driver = good_driver();
  driver.failing_call = "clCreateBuffer";
  driver.failing_status = -4;
  CHECK_THROWS_WITH_AS(
      Run{}, doctest::Contains("bytes: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"), DeviceError);
  CHECK(driver.live_objects == 0);
}

TEST_CASE(
    "a device that is lost in mid-run names the task, and what was not known to be complete") {
  FakeDriver& driver = good_driver();
  Run run;
  run();  // warm
  driver.failing_call = "clEnqueueNDRangeKernel";
  driver.failing_status = -2;
  driver.calls_before = 1;
  std::string message;
  try {
    run();
  } catch (const ExecutionError& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("task second#1 failed") != std::string::npos);
  CHECK(message.find("CL_DEVICE_NOT_AVAILABLE (-2)") != std::string::npos);
  CHECK(message.find("not known to be complete: first#0") != std::string::npos);
}

TEST_CASE("a kernel that fails while it runs is an error of the run") {
  FakeDriver& driver = good_driver();
  Run run;
  run();
  driver.kernel_status = -5;
  CHECK_THROWS_WITH_AS(
      run(), doctest::Contains("a command failed: CL_OUT_OF_RESOURCES (-5)"), ExecutionError);
}

TEST_CASE("times of another clock are refused, and not drawn") {
  FakeDriver& driver = good_driver();
  Run run(TaskTiming::events);
  run();
  driver.kernel_offset_ns = std::uint64_t{3600} * 1'000'000'000;
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("its times are not of one clock"), DeviceError);
  run.executor.run_options().timing = TaskTiming::none;
  CHECK_NOTHROW(run());
}

TEST_CASE("a device graph becomes a command buffer with the plan's edges, launched once a run") {
  FakeDriver& driver = good_driver();
  driver.extensions = "cl_khr_command_buffer";
  driver.queues_out_of_order = 1;
  driver.command_buffers = 8;  // kernels out of order
  {
    Run run;
    REQUIRE(run.executor.facts().device_graphs);
    const Plan plan = capture_graphs(make_policy("single_stream")->plan(run.scene.problem()));
    run.executor.run(run.scene.graph, plan, run.work, run.execution);
    CHECK(driver.sync_points == std::vector<std::uint32_t>{0, 1, 1});
    CHECK(driver.buffers_launched == 1);
    driver.failing_call = "clEnqueueCommandBufferKHR";
    driver.failing_status = -2;
    CHECK_THROWS_WITH_AS(run.executor.run(run.scene.graph, plan, run.work, run.execution),
                         doctest::Contains("clEnqueueCommandBufferKHR: CL_DEVICE_NOT_AVAILABLE"),
                         ExecutionError);
  }
  CHECK(driver.live_objects == 0);
}

TEST_CASE("device graphs are refused where command buffers keep an order, or lack a function") {
  FakeDriver& driver = good_driver();
  driver.extensions = "cl_khr_command_buffer";
  {
    Run run;
    const Plan plan = capture_graphs(make_policy("single_stream")->plan(run.scene.problem()));
    CHECK_THROWS_WITH_AS(run.executor.run(run.scene.graph, plan, run.work, run.execution),
                         doctest::Contains("it has no command buffers of kernels out of order"),
                         InfeasibleError);
  }
  driver.queues_out_of_order = 1;
  driver.command_buffers = 8;
  driver.failing_call = "clFinalizeCommandBufferKHR";
  driver.failing_status = -59;  // CL_INVALID_OPERATION
  CHECK_THROWS_WITH_AS(OpenClExecutor{options()},
                       doctest::Contains("has no clFinalizeCommandBufferKHR"),
                       DeviceError);
  CHECK(driver.live_objects == 0);
}

TEST_CASE(
    "streams of a split device take its groups in turn, and one that does not split says so") {
  FakeDriver& driver = good_driver();
  driver.max_groups = 4;
  {
    OpenClExecutorOptions split = options();
    split.group_units = 2;  // of 4
    OpenClExecutor executor(split);
    TaskGraphBuilder builder;
    for (int i = 0; i < 4; ++i) {
      builder.add_task(
          builder.add_operation({.name = "alone", .fixed_duration = std::chrono::microseconds{1}}));
    }
    const Scene scene(std::move(builder).build());
    OpenClProxyWork work(executor, scene.graph, scene.costs);
    Plan plan;
    plan.streams.resize(4);
    for (std::uint32_t i = 0; i < 4; ++i) {
      plan.hosts[HostId{0}].calls.push_back(HostCall::launch(StreamId{i}, TaskId{i}));
    }
    plan.hosts[HostId{0}].calls.push_back(HostCall::synchronize_all());
    Execution execution;
    executor.run(scene.graph, plan, work, execution);  // warm: queues that are no stream's
    const std::vector<std::uint32_t> before = driver.queues_of_group;
    executor.run(scene.graph, plan, work, execution);
    REQUIRE(before.size() == 2);
    CHECK(driver.queues_of_group[1] - before[1] == 2);
  }
  CHECK(driver.live_objects == 0);
  driver.failing_call = "clCreateSubDevices";
  driver.failing_status = -18;
  OpenClExecutorOptions three = options();
  three.group_units = 3;
  CHECK_THROWS_WITH_AS(
      OpenClExecutor{three},
      doctest::Contains("is not split into groups of 3: CL_DEVICE_PARTITION_FAILED"),
      DeviceError);
}

TEST_CASE("priorities and full throttle go to queues where the driver has them") {
  FakeDriver& driver = good_driver();
  driver.extensions = "cl_khr_icd cl_khr_priority_hints cl_khr_throttle_hints";
  OpenClExecutor executor(options());
  CHECK(executor.facts().throttles);
  CHECK(executor.properties().greatest_priority == -2);
  const Scene scene(three_kernels());
  OpenClProxyWork work(executor, scene.graph, scene.costs);
  Plan plan = make_policy("single_stream")->plan(scene.problem());
  driver.priorities_seen = 0;
  for (StreamSpec& stream : plan.streams) stream.priority = -5;  // clamped
  Execution execution;
  executor.run(scene.graph, plan, work, execution);
  constexpr std::uint64_t high = 1;
  CHECK((driver.priorities_seen & high) != 0);
  CHECK(driver.throttles_seen == high);
  good_driver();
  Run without;
  without();
  CHECK(without.executor.properties().greatest_priority == 0);
  CHECK(driver.throttles_seen == 0);
}
