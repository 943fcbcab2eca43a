// SPDX-License-Identifier: Apache-2.0
// The host's side of a run: the calls that it makes, and what it waits for.
#include "real_exec/cpu/cpu_backend.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace schedlab::detail {

void CpuBackend::before_call() {
  {
    const Guard guard(lock_);
    if (failure_) std::rethrow_exception(failure_);
  }
  host_calling_ = true;
}

void CpuBackend::create_stream(StreamId stream, int /*priority*/, const StreamSpec& spec) {
  const Guard guard(lock_);
  machine_->create_stream(stream, spec);
}

void CpuBackend::destroy_stream(StreamId /*stream*/) {}

void CpuBackend::launch(StreamId stream, TaskId task) {
  const Guard guard(lock_);
  machine_->launch(stream, task, call_time());
  tell_workers_of_work();
}

void CpuBackend::record(StreamId stream, EventId event) {
  const Guard guard(lock_);
  machine_->record(stream, event, call_time());
  tell_workers_of_work();
}

void CpuBackend::wait(StreamId stream, EventId event) {
  const Guard guard(lock_);
  machine_->wait(stream, event, call_time());
  tell_workers_of_work();
}

void CpuBackend::launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t /*row*/) {
  const Guard guard(lock_);
  machine_->graph_launch(stream, graph, call_time());
  tell_workers_of_work();
}

bool CpuBackend::idle(StreamId stream) {
  const Guard guard(lock_);
  return machine_->idle(stream);
}

bool CpuBackend::satisfied(const HostWait& wait) const {
  if (wait.stream.valid()) return machine_->idle(wait.stream);
  if (wait.event.valid()) return machine_->complete(wait.event);
  return machine_->all_idle();
}

/// Throws what ended the run, if something did. What is preloaded starts to run here.
void CpuBackend::await(const HostWait& wait) {
  if (!awake_) return;  // nothing was launched yet
  host_calling_ = false;
  if (gate_.load() == 0) release_workers();
  const bool spins = options_.host == HostPlacement::own_core && options_.pin;
  while (true) {
    std::uint32_t seen = 0;
    {
      const Guard guard(lock_);
      host_wait_ = wait;
      fail_if_stuck();
      if (ended_ || satisfied(wait)) {
        host_wait_.reset();
        if (failure_) std::rethrow_exception(failure_);
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
void CpuBackend::sleep_until(Time until, const CpuClock& clock, const StopFlag* stop) {
  constexpr Duration piece = std::chrono::milliseconds{10};
  constexpr Duration shortest = std::chrono::microseconds{20};  // a sleep takes about as long
  host_calling_ = false;
  const bool spins = options_.host == HostPlacement::own_core && options_.pin;
  while (true) {
    const Duration left = until - clock.now();
    if (left <= Duration{0} || stop_requested(stop)) return;
    {
      const Guard guard(lock_);
      if (ended_) return;
    }
    if (spins && left < shortest) {
      relax();
    } else {
      std::this_thread::sleep_for(
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::min(left, piece)));
    }
  }
}

}  // namespace schedlab::detail
