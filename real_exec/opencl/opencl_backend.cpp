// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_backend.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::detail {

OpenClLane& OpenClBackend::lane_of(StreamId stream) {
  SCHEDLAB_EXPECTS(lanes_.contains(stream) && lanes_[stream] != nullptr,
                   fmt::format("stream {} is used and does not exist", stream.value()));
  return *lanes_[stream];
}

/// One task of each operation: drivers compile a kernel for the size of its groups when it first
/// runs, and CLBlast its own.
void OpenClBackend::warm_up() {
  const TaskGraph& graph = request_->graph;
  OpenClLane lane(context_, context_->properties.least_priority);
  IdVector<OperationId, bool> met(graph.operations().size(), false);
  for (const TaskId task : graph.tasks()) {
    if (met[graph.operation_id(task)]) continue;
    met[graph.operation_id(task)] = true;
    try {
      work_->launch(task, lane);
      lane.finish();
    } catch (const DeviceError& error) {
      throw DeviceError(
          fmt::format("task {}, launched before the run: {}", graph.name(task), error.what()));
    }
  }
  work_->warm_ = true;
}

void OpenClBackend::begin_run(const RunRequest& request) {
  SCHEDLAB_EXPECTS(work_ != nullptr, "a run on an OpenCL device without work");
  request_.emplace(request);
  if (!work_->warm_) warm_up();
  work_->reset();
  timed_.clear();
  timed_.reserve(request.timing == TaskTiming::events ? request.graph.task_count() : 0);
}

std::vector<LoadedNode> OpenClBackend::load_graph(const GraphRow& row, LaunchObserver* observer) {
  if (!graphs_) graphs_.emplace(context_);
  return graphs_->load(row, request_->graph, *work_, observer);
}

/// Where a marker on the idle device lies between two readings of the host's clock; of several
/// tries the closest. It is off by at most half of what lies between them.
CpuClock OpenClBackend::start_clock() {
  constexpr int tries = 5;  // assumed: the first is slow, one of the others is not disturbed
  OpenClLane lane(context_, context_->properties.least_priority);
  const CpuClock measuring;
  Duration closest = Duration::max();
  for (int i = 0; i < tries; ++i) {
    const Time before = measuring.now();
    const OpenClEvent marker = lane.mark();
    lane.finish();
    const Time after = measuring.now();
    if (after - before >= closest) continue;
    closest = after - before;
    origin_ns_ = moment(marker, CL_PROFILING_COMMAND_END);
    origin_time_ = before + (after - before) / 2;
  }
  clock_ = CpuClock{};
  origin_time_ = Time{origin_time_ - measuring.now()};
  return clock_;
}

void OpenClBackend::create_stream(StreamId stream, int priority, const StreamSpec& spec) {
  if (spec.sync == StreamSync::legacy_default) {
    throw InfeasibleError(
        fmt::format("stream {} is CUDA's legacy default stream, which OpenCL devices do not have",
                    stream.value()));
  }
  if (!lanes_.contains(stream)) lanes_.raw().resize(stream.value() + 1);
  lanes_[stream] = std::make_unique<OpenClLane>(context_, priority, stream.value());
}

void OpenClBackend::destroy_stream(StreamId stream) {
  static_cast<void>(lane_of(stream));
  ended_.push_back(std::move(lanes_[stream]));
}

void OpenClBackend::launch(StreamId stream, TaskId task) {
  OpenClLane& lane = lane_of(stream);
  const bool timed = request_->timing == TaskTiming::events;
  if (timed) lane.begin_task();
  work_->launch(task, lane);
  lane.flush();
  if (timed) timed_.emplace_back(task, lane.end_task());
}

void OpenClBackend::record(StreamId stream, EventId event) {
  if (!events_.contains(event)) events_.raw().resize(event.value() + 1);
  events_[event] = lane_of(stream).mark();
}

void OpenClBackend::wait(StreamId stream, EventId event) {
  if (events_.contains(event) && events_[event]) lane_of(stream).wait(events_[event]);
}

bool OpenClBackend::idle(StreamId stream) {
  return lane_of(stream).idle();
}

void OpenClBackend::synchronize(StreamId stream) {
  lane_of(stream).finish();
}

void OpenClBackend::synchronize(EventId event) {
  if (!events_.contains(event) || !events_[event]) return;
  cl_event awaited = events_[event].get();
  check_opencl(context_->cl.wait_for_events(1, &awaited), "clWaitForEvents");
}

void OpenClBackend::synchronize() {
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->finish();
  }
  for (const auto& lane : ended_) lane->finish();
}

void OpenClBackend::launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) {
  graphs_->launch(lane_of(stream), graph, row);
}

void OpenClBackend::end_run() {
  for (const auto& lane : lanes_) {
    if (lane != nullptr) static_cast<void>(context_->cl.finish(lane->queue()));
  }
  for (const auto& lane : ended_) static_cast<void>(context_->cl.finish(lane->queue()));
  graphs_.reset();
  lanes_.clear();
  ended_.clear();
  events_.clear();
}

std::uint64_t OpenClBackend::moment(const OpenClEvent& event, cl_profiling_info which) const {
  cl_ulong ns = 0;
  check_opencl(context_->cl.get_profiling_info(event.get(), which, sizeof(ns), &ns, nullptr),
               "clGetEventProfilingInfo");
  return ns;
}

Time OpenClBackend::on_host(std::uint64_t device_ns) const {
  return origin_time_ + std::chrono::nanoseconds{static_cast<std::int64_t>(device_ns - origin_ns_)};
}

std::vector<TaskTime> OpenClBackend::task_times() {
  // Assumed: more than clocks of one computer drift apart in a run, less than a task of an epoch
  // that is another clock's.
  constexpr Duration slack = std::chrono::milliseconds{10};
  const Time ended = clock_.now();
  std::vector<TaskTime> times;
  times.reserve(timed_.size());
  for (const auto& [task, events] : timed_) {
    if (!events.first) continue;  // it runs nothing
    const Time started = on_host(moment(events.first, CL_PROFILING_COMMAND_START));
    const Time over = on_host(moment(events.last, CL_PROFILING_COMMAND_END));
    if (started < Time{} - slack || over > ended + slack || over < started) {
      throw DeviceError(fmt::format(
          "the driver of {} has task {} run from {:.1f} to {:.1f} us of a run of {:.1f} us: its "
          "times are not of one clock; run without task times",
          context_->facts.name,
          request_->graph.name(task),
          to_us(started - Time{}),
          to_us(over - Time{}),
          to_us(ended - Time{})));
    }
    times.push_back({.task = task,
                     .started = std::max(started, Time{}),
                     .ended = std::max(over, std::max(started, Time{}))});
  }
  return times;
}

}  // namespace schedlab::detail
