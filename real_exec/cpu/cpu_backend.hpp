// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "profiler/span_buffer.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/cpu/cpu_threads.hpp"
#include "real_exec/executor/device_backend.hpp"
#include "real_exec/executor/spin_lock.hpp"
#include "real_exec/executor/stream_machine.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace schedlab::detail {

/// This computer's cores as a device: worker threads run the blocks of a stream machine, the thread
/// that drives the backend is the host.
///
/// One spin lock guards the stream machine and what stands below it; it is held for well under a
/// microsecond. Two counters tell threads to look again: `work_signal_` idle workers,
/// `host_signal_` a waiting host. Workers never call a virtual function of the backend.
class CpuBackend final : public DeviceBackend {
 public:
  explicit CpuBackend(const CpuExecutorOptions& options);
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;
  ~CpuBackend() override;

  [[nodiscard]] std::uint32_t workers() const { return workers_; }
  [[nodiscard]] const CpuExecutorOptions& options() const { return options_; }
  /// What tasks do in the runs from now on; must outlive them.
  void use(CpuWork& work) { work_ = &work; }
  /// In the runs from now on workers take tasks as the policy says, from the moment at which the
  /// host waits for them; nullptr: they do what the host launches.
  void dispatch_by(DispatchingPolicy* policy) { policy_ = policy; }

  [[nodiscard]] const DeviceProperties& properties() const override { return properties_; }
  void begin_run(const RunRequest& request) override;
  std::vector<LoadedNode> load_graph(const GraphRow& row, LaunchObserver* observer) override;
  [[nodiscard]] CpuClock start_clock() override;
  void before_call() override;
  void create_stream(StreamId stream, int priority, const StreamSpec& spec) override;
  void destroy_stream(StreamId stream) override;
  void launch(StreamId stream, TaskId task) override;
  void record(StreamId stream, EventId event) override;
  void wait(StreamId stream, EventId event) override;
  [[nodiscard]] bool idle(StreamId stream) override;
  void synchronize(StreamId stream) override { await({.stream = stream, .event = {}}); }
  void synchronize(EventId event) override { await({.stream = {}, .event = event}); }
  void synchronize() override { await({}); }
  void sleep_until(Time until, const CpuClock& clock, const StopFlag* stop) override;
  void launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) override;
  void finish(Execution& out) override;
  void end_run() override;
  [[nodiscard]] std::vector<TaskTime> task_times() override { return {}; }

 private:
  /// What a host waits for: a stream or an event, or everything.
  struct HostWait {
    StreamId stream;
    EventId event;
  };

  using Guard = std::lock_guard<SpinLock>;

  void start_threads(const std::vector<std::uint32_t>& cores);
  void stop_threads();
  void worker_main(std::uint32_t worker, std::int64_t core);
  void work_through_run(std::uint32_t worker);
  std::optional<BlockOfWork> next_block(std::uint32_t worker);
  bool run_block(std::uint32_t worker, const BlockOfWork& block, Time& started, Time& ended);
  void idle_until_told(std::uint32_t worker, std::uint32_t seen) const;
  [[nodiscard]] bool gives_way(std::uint32_t worker) const {
    return worker == 0 && options_.host == HostPlacement::shares_core;
  }
  [[nodiscard]] bool preloaded() const { return options_.host == HostPlacement::preloaded; }

  void await(const HostWait& wait);
  [[nodiscard]] bool satisfied(const HostWait& wait) const;
  void release_workers();
  void drain_workers();

  // With the lock held.
  /// When a call is made: what is preloaded happens before time 0.
  [[nodiscard]] Time call_time() const { return preloaded() ? Time{} : clock_.now(); }
  void tell_workers_of_work();
  void tell_workers();
  void tell_host_if_satisfied();
  void fail(std::exception_ptr failure);
  void fail_if_stuck();

  CpuExecutorOptions options_;
  DeviceProperties properties_;
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
  DispatchingPolicy* policy_ = nullptr;
  std::optional<StreamMachine> machine_;
  CpuClock clock_;
  bool awake_ = false;  // workers are in the run
  std::optional<BoundToCore> bound_;
  bool ended_ = false;  // workers leave the run
  std::optional<HostWait> host_wait_;
  std::exception_ptr failure_;
};

}  // namespace schedlab::detail
