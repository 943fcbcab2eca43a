// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "profiler/span_buffer.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/executor/call_source.hpp"
#include "real_exec/executor/spin_lock.hpp"
#include "real_exec/executor/stream_machine.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

namespace schedlab::detail {

/// The worker threads of an executor, and one run on them. The thread that calls run() is the host.
///
/// One spin lock guards the stream machine and what stands below it; it is held for well under a
/// microsecond. Two counters tell threads to look again: `work_signal_` idle workers,
/// `host_signal_` a waiting host.
class CpuThreads {
 public:
  explicit CpuThreads(const CpuExecutorOptions& options);
  CpuThreads(const CpuThreads&) = delete;
  CpuThreads& operator=(const CpuThreads&) = delete;
  ~CpuThreads();

  [[nodiscard]] std::uint32_t workers() const { return workers_; }
  [[nodiscard]] const CpuExecutorOptions& options() const { return options_; }
  void set_front_end(Duration per_kernel) { options_.front_end = per_kernel; }

  /// Fills out.trace, out.blocks and out.recording_overhead, also if it throws.
  void run(const TaskGraph& graph,
           CpuWork& work,
           const IdVector<StreamId, StreamSpec>& streams,
           const std::vector<DeviceGraph>& graphs,
           const CallSource& calls,
           Execution& out);

 private:
  /// What a host waits for: a stream or an event, or everything.
  struct HostWait {
    StreamId stream;
    EventId event;
  };

  void start_threads(const std::vector<std::uint32_t>& cores);
  void stop_threads();
  void worker_main(std::uint32_t worker, std::int64_t core);
  void work_through_run(std::uint32_t worker);
  std::optional<BlockOfWork> next_block(std::uint32_t worker);
  bool run_block(std::uint32_t worker, const BlockOfWork& block, Time& started, Time& ended);
  void idle(std::uint32_t worker, std::uint32_t seen) const;
  [[nodiscard]] bool gives_way(std::uint32_t worker) const {
    return worker == 0 && options_.host == HostPlacement::shares_core;
  }

  void make_calls(const CallSource& calls, Execution& out);
  void make_call(const OnlineStep& step, const CallSource& calls, HostSpan& span);
  void sleep_until(Time until) const;
  void prepare_launch(TaskId task, Time started) const;
  void wait_for(const HostWait& wait);
  [[nodiscard]] bool satisfied(const HostWait& wait) const;
  void release_workers();

  // With the lock held.
  void tell_workers();
  void tell_host_if_satisfied();
  void fail(std::exception_ptr failure);
  void fail_if_stuck();

  void finish_run(Execution& out);

  CpuExecutorOptions options_;
  std::uint32_t workers_ = 0;
  std::int64_t host_core_ = -1;
  std::vector<std::thread> threads_;
  std::vector<SpanBuffer> buffers_;
  Duration block_overhead_{0};

  // Between runs: workers wait for run_ to change.
  std::atomic<std::uint32_t> run_{0};
  std::atomic<bool> quit_{false};
  std::atomic<std::uint32_t> inside_{0};  // workers that are in the run
  std::atomic<std::uint32_t> gate_{0};    // 1: the run has begun
  std::exception_ptr thread_failure_;     // of a worker before its first run; guarded by lock_

  /// The host is making calls: on a core that it shares, the worker there lets it go first.
  std::atomic<bool> host_calling_{false};
  std::atomic<std::uint32_t> work_signal_{0};
  std::atomic<std::uint32_t> host_signal_{0};
  mutable SpinLock lock_;
  const TaskGraph* graph_ = nullptr;
  CpuWork* work_ = nullptr;
  std::optional<StreamMachine> machine_;
  CpuClock clock_;
  bool ended_ = false;  // workers leave the run
  std::optional<HostWait> host_wait_;
  std::exception_ptr failure_;
  bool last_query_set_ = false;
  bool last_query_ = false;
};

}  // namespace schedlab::detail
