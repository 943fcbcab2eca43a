// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_backend.hpp"

#include "real_exec/cuda/cuda_launch.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab::detail {
namespace {

/// From one event to another, both complete.
Duration between(const CudaEvent& from, const CudaEvent& to) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime");
  constexpr double ps_per_ms = 1e9;
  return Duration{std::llround(static_cast<double>(milliseconds) * ps_per_ms)};
}

}  // namespace

CudaBackend::Stream& CudaBackend::stream_of(StreamId stream) {
  SCHEDLAB_EXPECTS(streams_.contains(stream) && streams_[stream].handle != nullptr,
                   fmt::format("stream {} is used and does not exist", stream.value()));
  return streams_[stream];
}

CudaBlas& CudaBackend::blas_of(StreamId stream) {
  if (!blas_.contains(stream)) blas_.raw().resize(stream.value() + 1);
  auto& blas = blas_[stream];
  if (blas == nullptr) {
    blas =
        std::make_unique<CudaBlas>(*context_->blas, context_->lt.get(), context_->workspace_bytes);
  }
  return *blas;
}

cudaEvent_t CudaBackend::event_of(EventId event) {
  constexpr std::size_t piece = 256;  // assumed: few enough that a call is not held up for long
  while (events_.size() <= event.value()) {
    for (std::size_t i = 0; i < piece; ++i) events_.push_back(make_event(false));
  }
  return events_[event.value()].get();
}

/// One task of each operation: loads kernels, and lets cuBLAS choose. Neither can happen while a
/// stream is being captured, nor should within a run.
void CudaBackend::warm_up() {
  const TaskGraph& graph = request_->graph;
  const CudaStream stream = make_stream(context_->properties.least_priority);
  CudaBlas& blas = blas_of(StreamId{0});
  IdVector<OperationId, bool> met(graph.operations().size(), false);
  for (const TaskId task : graph.tasks()) {
    if (met[graph.operation_id(task)]) continue;
    met[graph.operation_id(task)] = true;
    try {
      work_->launch(task,
                    {.stream = stream.get(),
                     .blas = blas,
                     .capturing = false,
                     .stream_number = 0,
                     .measuring = true});
      check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    } catch (const DeviceError& error) {
      throw DeviceError(
          fmt::format("task {}, launched before the run: {}", graph.name(task), error.what()));
    }
  }
  blas.unbind();
  work_->warm_ = true;
}

void CudaBackend::begin_run(const RunRequest& request) {
  SCHEDLAB_EXPECTS(work_ != nullptr, "a run on a CUDA device without work");
  context_->use();
  request_.emplace(request);
  clock_started_ = false;
  divided_ = false;
  streams_made_ = 0;
  for (const auto& blas : blas_) {
    if (blas != nullptr) blas->unbind();
  }
  if (!work_->warm_) warm_up();
  work_->reset();
  graphs_.begin_run(*request_, work_->graphs_);
  kept_ = work_->graphs_;
  if (work_->multiplies()) {
    for (std::uint32_t stream = 0; stream < request.stream_count; ++stream) {
      blas_of(StreamId{stream}).prepare();
    }
  }
  if (request.event_count > 0) static_cast<void>(event_of(EventId{request.event_count - 1}));
  timed_.clear();
  row_tasks_.clear();
  timed_run_ = request.timing == TaskTiming::events;
  while (timed_run_ && kept_->events.size() < request.graph.task_count()) {
    kept_->events.push_back({make_event(true), make_event(true)});
  }
  synchronize();
}

std::vector<LoadedNode> CudaBackend::load_graph(const GraphRow& row, LaunchObserver* observer) {
  const auto tasks = row.shape.tasks(row.row);
  row_tasks_[{row.graph, row.row}].assign(tasks.begin(), tasks.end());
  return graphs_.load(row, *work_, observer);
}

void CudaBackend::divide_units(const std::vector<std::uint32_t>& partitions) {
  divided_ = true;
  if (green_units_ == partitions) return;
  std::erase_if(idle_streams_,
                [](const auto& idle) { return std::get<2>(idle.first).has_value(); });
  green_units_.clear();
  green_ = std::make_unique<GreenContexts>(context_->device, partitions);
  green_units_ = partitions;
}

void CudaBackend::begin_steadily() {
  if (!steady_) steady_.emplace(*context_);
  steady_->enter();
}

/// Where an event on the idle device lies between two readings of the host's clock; of several
/// tries the closest. It is off by at most half of what lies between them.
CpuClock CudaBackend::start_clock() {
  constexpr int tries = 5;  // assumed: the first is slow, one of the others is not disturbed
  const CudaStream stream = make_stream(context_->properties.least_priority);
  const CpuClock measuring;
  Duration closest = Duration::max();
  for (int i = 0; i < tries; ++i) {
    CudaEvent event = make_event(true);
    const Time before = measuring.now();
    check_cuda(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(event.get()), "cudaEventSynchronize");
    const Time after = measuring.now();
    if (after - before >= closest) continue;
    closest = after - before;
    origin_ = std::move(event);
    origin_time_ = before + (after - before) / 2;
  }
  clock_started_ = true;
  CpuClock clock;
  origin_time_ = Time{origin_time_ - measuring.now()};
  return clock;
}

void CudaBackend::create_stream(StreamId stream, int priority, const StreamSpec& spec) {
  if (!streams_.contains(stream)) streams_.raw().resize(stream.value() + 1);
  Stream made;
  made.number = streams_made_++;
  if (divided_ && spec.sync != StreamSync::non_blocking) {
    throw InfeasibleError(fmt::format(
        "stream {} waits for the legacy default stream, as those of green contexts never do",
        stream.value()));
  }
  if (spec.sync == StreamSync::legacy_default) {
    made.handle = cudaStreamLegacy;
  } else {
    const bool blocking = spec.sync == StreamSync::blocking;
    made.kind = {priority, blocking, divided_ ? std::optional{spec.partition} : std::nullopt};
    std::vector<CudaStream>& idle = idle_streams_[made.kind];
    if (idle.empty()) {
      made.owned = divided_ ? green_->make_stream(spec.partition, priority)
                            : make_stream(priority, blocking);
    } else {
      made.owned = std::move(idle.back());
      idle.pop_back();
    }
    made.handle = made.owned.get();
  }
  streams_[stream] = std::move(made);
  if (!clock_started_ && work_->multiplies()) blas_of(stream).prepare();
}

void CudaBackend::give_back(Stream& stream) {
  if (stream.owned) used_streams_.emplace_back(stream.kind, std::move(stream.owned));
  stream = {};
}

void CudaBackend::destroy_stream(StreamId stream) {
  Stream& destroyed = stream_of(stream);
  blas_of(stream).unbind();
  give_back(destroyed);
}

void CudaBackend::launch(StreamId stream, TaskId task) {
  launch(stream, task, false);
}

void CudaBackend::launch_programmatically(StreamId stream, TaskId task) {
  launch(stream, task, true);
}

void CudaBackend::launch(StreamId stream, TaskId task, bool programmatic) {
  const cudaStream_t handle = stream_of(stream).handle;
  if (timed_run_) {
    check_cuda(cudaEventRecord(kept_->events[task.value()].started.get(), handle),
               "cudaEventRecord");
  }
  work_->launch(task,
                {.stream = handle,
                 .blas = blas_of(stream),
                 .capturing = false,
                 .stream_number = stream_of(stream).number,
                 .programmatic = programmatic && !timed_run_});  // an event would be between
  if (timed_run_) {
    check_cuda(cudaEventRecord(kept_->events[task.value()].ended.get(), handle), "cudaEventRecord");
    timed_.push_back(task);
  }
}

void CudaBackend::record(StreamId stream, EventId event) {
  check_cuda(cudaEventRecord(event_of(event), stream_of(stream).handle), "cudaEventRecord");
}

void CudaBackend::wait(StreamId stream, EventId event) {
  check_cuda(cudaStreamWaitEvent(stream_of(stream).handle, event_of(event), 0),
             "cudaStreamWaitEvent");
}

bool CudaBackend::idle(StreamId stream) {
  const cudaError_t status = cudaStreamQuery(stream_of(stream).handle);
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check_cuda(status, "cudaStreamQuery");
  return true;
}

void CudaBackend::synchronize(StreamId stream) {
  check_cuda(cudaStreamSynchronize(stream_of(stream).handle), "cudaStreamSynchronize");
}

void CudaBackend::synchronize(EventId event) {
  check_cuda(cudaEventSynchronize(event_of(event)), "cudaEventSynchronize");
}

void CudaBackend::synchronize() {
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void CudaBackend::launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) {
  graphs_.launch(stream_of(stream).handle, graph, row);
  if (!timed_run_) return;
  const std::vector<TaskId>& tasks = row_tasks_.at({graph, row});
  timed_.insert(timed_.end(), tasks.begin(), tasks.end());
}

void CudaBackend::end_run() {
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaGetLastError());
  for (Stream& stream : streams_) give_back(stream);
  streams_.clear();
  for (auto& [kind, stream] : used_streams_) idle_streams_[kind].push_back(std::move(stream));
  used_streams_.clear();
  kept_.reset();
}

std::vector<TaskTime> CudaBackend::task_times() {
  std::vector<TaskTime> times;
  times.reserve(timed_.size());
  for (const TaskId task : timed_) {
    const TaskEvents& events = kept_->events[task.value()];
    const Time started = std::max(origin_time_ + between(origin_, events.started), Time{});
    times.push_back({.task = task,
                     .started = started,
                     .ended = std::max(origin_time_ + between(origin_, events.ended), started)});
  }
  return times;
}

}  // namespace schedlab::detail
