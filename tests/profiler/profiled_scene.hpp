// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace schedlab::testing {

inline ActivityTime at(std::int64_t nanoseconds) {
  return ActivityTime{std::chrono::nanoseconds{nanoseconds}};
}

/// Tasks without edges, of one operation "spin".
inline TaskGraph loose_tasks(std::size_t count) {
  TaskGraphBuilder builder;
  const OperationId spin = builder.add_operation({.name = "spin"});
  for (std::size_t i = 0; i < count; ++i) (void)builder.add_task(spin);
  return std::move(builder).build();
}

/// A log that is written record by record; its clock is the host's.
class LogMaker {
 public:
  /// A call on thread 9 that lasts 10 ns; returns its correlation.
  std::uint32_t call(const std::string& name, std::int64_t from, WorkId work = {}) {
    const std::uint32_t correlation = ++last_;
    log.calls.push_back({.name = name,
                         .callback = 211,
                         .started = at(from),
                         .ended = at(from + 10),
                         .process = 8,
                         .thread = 9,
                         .correlation = correlation});
    if (work.kind() != WorkId::Kind::none) {
      log.correlations.push_back({.correlation = correlation, .work = work});
    }
    return correlation;
  }
  void kernel(std::uint32_t correlation,
              std::int64_t from,
              std::int64_t to,
              std::uint32_t stream = 13,
              std::uint64_t node = 0) {
    log.kernels.push_back({.name = "spin",
                           .started = at(from),
                           .ended = at(to),
                           .place = {.device = 0, .context = 1, .stream = stream},
                           .correlation = correlation,
                           .node = {.graph = node == 0 ? 0U : 1U, .node = node},
                           .grid = {4, 1, 1},
                           .block = {128, 1, 1},
                           .registers_per_thread = 32});
  }

  ActivityLog log;

 private:
  std::uint32_t last_ = 0;
};

/// Task 0 in stream 0 (two kernels), task 1 in stream 1 after it, and a synchronization.
struct TwoStreams {
  TwoStreams() {
    plan.streams.push_back({});
    plan.streams.push_back({});
    plan.event_count = 1;
    auto& calls = plan.hosts[HostId{0}].calls;
    calls.push_back(HostCall::launch(StreamId{0}, TaskId{0}));
    calls.push_back(HostCall::record(StreamId{0}, EventId{0}));
    calls.push_back(HostCall::sleep_ns(100));
    calls.push_back(HostCall::wait(StreamId{1}, EventId{0}));
    calls.push_back(HostCall::launch(StreamId{1}, TaskId{1}));
    calls.push_back(HostCall::synchronize_all());

    const WorkId first = WorkId::task(TaskId{0});
    const std::uint32_t a = maker.call("cudaLaunchKernel", 1000, first);
    const std::uint32_t b = maker.call("cudaLaunchKernel", 1020, first);
    (void)maker.call("cudaEventRecord", 1040);
    (void)maker.call("cudaStreamWaitEvent", 1060);
    const std::uint32_t c = maker.call("cudaLaunchKernelExC", 1080, WorkId::task(TaskId{1}));
    (void)maker.call("cudaDeviceSynchronize", 1100);
    maker.kernel(a, 1500, 1600, 13);
    maker.kernel(b, 1650, 1800, 13);
    maker.kernel(c, 1900, 2000, 14);
  }

  TaskGraph graph = loose_tasks(2);
  Plan plan;
  LogMaker maker;
};

}  // namespace schedlab::testing
