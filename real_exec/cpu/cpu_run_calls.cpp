// SPDX-License-Identifier: Apache-2.0
// The host's side of a run: the calls that it makes, and what it waits for.
#include "real_exec/cpu/cpu_run.hpp"
#include "real_exec/cpu/cpu_threads.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace schedlab::detail {
namespace {

using Guard = std::lock_guard<SpinLock>;

std::chrono::nanoseconds to_ns(Duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d);
}

}  // namespace

bool CpuThreads::satisfied(const HostWait& wait) const {
  if (wait.stream.valid()) return machine_->idle(wait.stream);
  if (wait.event.valid()) return machine_->complete(wait.event);
  return machine_->all_idle();
}

void CpuThreads::wait_for(const HostWait& wait) {
  const bool spins = options_.host == HostPlacement::own_core && options_.pin;
  while (true) {
    std::uint32_t seen = 0;
    {
      const Guard guard(lock_);
      host_wait_ = wait;
      fail_if_stuck();
      if (ended_ || satisfied(wait)) {
        host_wait_.reset();
        return;
      }
      seen = host_signal_.load(std::memory_order_relaxed);
    }
    const Time until = clock_.now() + options_.spin;
    while (spins && host_signal_.load(std::memory_order_acquire) == seen && clock_.now() < until) {
      relax();
    }
    host_signal_.wait(seen);
  }
}

/// In pieces, so that a stopped or failed run does not wait for a long sleep.
void CpuThreads::sleep_until(Time until) const {
  constexpr Duration piece = std::chrono::milliseconds{10};
  constexpr Duration shortest = std::chrono::microseconds{20};  // a sleep takes about as long
  const bool spins = options_.host == HostPlacement::own_core && options_.pin;
  while (true) {
    const Duration left = until - clock_.now();
    if (left <= Duration{0} || stop_requested(options_.stop)) return;
    {
      const Guard guard(lock_);
      if (ended_) return;
    }
    if (spins && left < shortest) {
      relax();
    } else {
      std::this_thread::sleep_for(to_ns(std::min(left, piece)));
    }
  }
}

/// Spends the front end's time of a launch, which lasts until the run is stopped at most.
void CpuThreads::prepare_launch(TaskId task, Time started) const {
  if (options_.front_end == Duration{0} || options_.host == HostPlacement::preloaded) return;
  const Time until = started + options_.front_end * graph_->operation(task).launches();
  while (clock_.now() < until && !stop_requested(options_.stop)) relax();
}

// NOLINTNEXTLINE(readability-function-size): a line or two for each kind of call
void CpuThreads::make_call(const OnlineStep& step, const CallSource& calls, HostSpan& span) {
  const HostCallKind kind = step.call.kind();
  host_calling_ = kind != HostCallKind::sleep && kind != HostCallKind::synchronize;
  const HostCall call = step.call;
  const StreamId stream = call.stream();
  switch (call.kind()) {
    case HostCallKind::sleep:
      sleep_until(span.started + call.sleep_time());
      span.blocked = clock_.now() - span.started;
      return;
    case HostCallKind::synchronize:
      wait_for({.stream = stream,
                .event = stream.valid() || call.argument() == HostCall::none ? EventId::none()
                                                                             : call.event()});
      span.blocked = clock_.now() - span.started;
      return;
    case HostCallKind::query: {
      bool idle = false;
      {
        const Guard guard(lock_);
        idle = machine_->idle(stream);
      }
      last_query_set_ = true;
      last_query_ = idle;
      calls.answer(idle);
      span.what = HostCall::answered_query(stream, idle);
      return;
    }
    case HostCallKind::destroy_stream:
    case HostCallKind::graph_load:  // the graph was prepared before the run
      return;
    default:
      break;
  }
  if (kind == HostCallKind::launch) prepare_launch(call.task(), span.started);
  const Guard guard(lock_);
  // What is preloaded happens before time 0.
  const auto now = [&] {
    return options_.host == HostPlacement::preloaded ? Time{} : clock_.now();
  };
  switch (call.kind()) {
    case HostCallKind::create_stream:
      machine_->create_stream(stream, step.stream);
      break;
    case HostCallKind::launch:
      machine_->launch(stream, call.task(), now());
      break;
    case HostCallKind::record:
      machine_->record(stream, call.event(), now());
      break;
    case HostCallKind::wait:
      machine_->wait(stream, call.event(), now());
      break;
    case HostCallKind::graph_launch:
      machine_->graph_launch(stream, call.graph(), now());
      break;
    default:
      throw InfeasibleError(
          fmt::format("the CPU executor cannot make the call {}", to_string(call.kind())));
  }
  if (machine_->has_ready() && gate_.load(std::memory_order_relaxed) != 0) tell_workers();
}

void CpuThreads::make_calls(const CallSource& calls, Execution& out) {
  const bool preloaded = options_.host == HostPlacement::preloaded;
  std::uint32_t index = 0;
  while (true) {
    HostView view{.now = clock_.now(), .last_query = std::nullopt};
    if (last_query_set_) view.last_query = last_query_;
    last_query_set_ = false;
    const auto step = calls.next(view);
    if (!step) break;
    {
      const Guard guard(lock_);
      if (ended_) return;
    }
    if (stop_requested(options_.stop)) throw Interrupted("the execution was stopped");
    if (preloaded && step->call.kind() == HostCallKind::synchronize) break;  // the last call
    HostSpan span{.host = HostId{0}, .call = index++, .what = step->call, .started = clock_.now()};
    make_call(*step, calls, span);
    span.ended = clock_.now();
    if (options_.record_hosts && !preloaded) out.trace.hosts.push_back(span);
  }
}

}  // namespace schedlab::detail
