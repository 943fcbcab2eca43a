// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "real_exec/executor/device_backend.hpp"
#include "real_exec/opencl/opencl_context.hpp"
#include "real_exec/opencl/opencl_graphs.hpp"
#include "real_exec/opencl/opencl_lane.hpp"
#include "real_exec/opencl/opencl_work.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Streams and events of an OpenCL device: in-order queues and markers. Queues are flushed after
/// each call, as a device may else begin later than the plan says.
class OpenClBackend final : public DeviceBackend {
 public:
  explicit OpenClBackend(std::shared_ptr<OpenClContext> context) : context_(std::move(context)) {}

  /// What tasks launch in the runs from now on; must outlive them.
  void use(OpenClWork& work) { work_ = &work; }

  [[nodiscard]] const DeviceProperties& properties() const override { return context_->properties; }
  void begin_run(const RunRequest& request) override;
  /// Nodes have no times of their own. Throws InfeasibleError as OpenClGraphs.
  std::vector<LoadedNode> load_graph(const GraphRow& row, LaunchObserver* observer) override;
  [[nodiscard]] CpuClock start_clock() override;
  void create_stream(StreamId stream, int priority, const StreamSpec& spec) override;
  void destroy_stream(StreamId stream) override;
  void launch(StreamId stream, TaskId task) override;
  void record(StreamId stream, EventId event) override;
  void wait(StreamId stream, EventId event) override;
  [[nodiscard]] bool idle(StreamId stream) override;
  void synchronize(StreamId stream) override;
  void synchronize(EventId event) override;
  void synchronize() override;
  void launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) override;
  void end_run() override;
  [[nodiscard]] std::vector<TaskTime> task_times() override;

 private:
  void warm_up();
  OpenClLane& lane_of(StreamId stream);
  /// On the device's clock, in nanoseconds.
  [[nodiscard]] std::uint64_t moment(const OpenClEvent& event, cl_profiling_info which) const;
  /// A moment of the device on the clock of the run.
  [[nodiscard]] Time on_host(std::uint64_t device_ns) const;

  std::shared_ptr<OpenClContext> context_;
  OpenClWork* work_ = nullptr;
  std::optional<RunRequest> request_;
  IdVector<StreamId, std::unique_ptr<OpenClLane>> lanes_;
  std::vector<std::unique_ptr<OpenClLane>> ended_;  // destroyed by the plan, perhaps not empty yet
  IdVector<EventId, OpenClEvent> events_;           // empty: not recorded, which is complete
  std::optional<OpenClGraphs> graphs_;
  std::vector<std::pair<TaskId, OpenClTaskEvents>> timed_;
  CpuClock clock_;
  std::uint64_t origin_ns_ = 0;  // a moment of the device ...
  Time origin_time_{};           // ... and the same on the clock of the run: before time 0
};

}  // namespace schedlab::detail
