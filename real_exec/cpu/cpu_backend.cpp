// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_backend.hpp"

#include "real_exec/cpu/processor_name.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace schedlab::detail {

CpuBackend::CpuBackend(const CpuExecutorOptions& options) : options_(options) {
  const std::vector<std::uint32_t> cores = usable_cores();
  const auto count = static_cast<std::uint32_t>(cores.size());
  const std::uint32_t for_host = options.host == HostPlacement::own_core ? 1 : 0;
  workers_ = options.workers != 0 ? options.workers : std::max(count, for_host + 1) - for_host;
  if (options.pin && workers_ + for_host > count) {
    throw InfeasibleError(fmt::format(
        "{} workers{} need {} cores, this process may use {}; ask for fewer workers, or "
        "let the host share a core (shares_core, preloaded)",
        workers_,
        for_host == 1 ? " and a host on its own core" : "",
        workers_ + for_host,
        count));
  }
  properties_ = {.name = processor_name(),
                 .executor = "the CPU executor",
                 .least_priority = 0,
                 .greatest_priority = 1 - static_cast<int>(options.priority_levels),
                 .units = workers_,
                 .is_host = true};
  if (options.pin) host_core_ = cores.front();
  buffers_.resize(workers_);
  if (options.record_blocks) block_overhead_ = schedlab::recording_overhead();
  start_threads(cores);
}

CpuBackend::~CpuBackend() {
  stop_threads();
}

void CpuBackend::start_threads(const std::vector<std::uint32_t>& cores) {
  const std::size_t first = options_.host == HostPlacement::own_core ? 1 : 0;
  try {
    for (std::uint32_t w = 0; w < workers_; ++w) {
      const std::int64_t core = options_.pin ? std::int64_t{cores[first + w]} : -1;
      threads_.emplace_back([this, w, core] { worker_main(w, core); });
    }
  } catch (const std::system_error& error) {
    stop_threads();
    throw DeviceError(fmt::format("{} worker threads cannot be made: {}", workers_, error.what()));
  }
}

void CpuBackend::stop_threads() {
  quit_.store(true);
  run_.fetch_add(1);
  run_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void CpuBackend::worker_main(std::uint32_t worker, std::int64_t core) {
  try {
    if (core >= 0) bind_to_core(static_cast<std::uint32_t>(core));
    if (options_.prepare_worker != nullptr) options_.prepare_worker();
  } catch (...) {
    const Guard guard(lock_);
    thread_failure_ = std::current_exception();
  }
  std::uint32_t seen = 0;
  while (true) {
    run_.wait(seen);
    seen = run_.load();
    if (quit_.load()) return;
    work_through_run(worker);
  }
}

void CpuBackend::work_through_run(std::uint32_t worker) {
  inside_.fetch_add(1);
  while (gate_.load(std::memory_order_acquire) == 0) {
    if (gives_way(worker) || preloaded() || !options_.pin) {
      std::this_thread::yield();
    } else {
      relax();
    }
  }
  while (const auto block = next_block(worker)) {
    Time started;
    Time ended;
    if (!run_block(worker, *block, started, ended)) continue;
    {
      const Guard guard(lock_);
      try {
        machine_->finish(*block, started, ended);
      } catch (...) {  // of a policy that workers ask
        fail(std::current_exception());
      }
      tell_host_if_satisfied();
      fail_if_stuck();
    }
    if (gives_way(worker) && host_calling_.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
    }
  }
  inside_.fetch_sub(1);
  inside_.notify_all();
}

/// The next block, for which the worker waits if it must; nullopt: the run is over.
std::optional<BlockOfWork> CpuBackend::next_block(std::uint32_t worker) {
  while (true) {
    std::uint32_t seen = 0;
    {
      const Guard guard(lock_);
      if (stop_requested(options_.stop) && !failure_) {
        fail(std::make_exception_ptr(Interrupted("the execution was stopped")));
      }
      if (ended_) return std::nullopt;
      const auto block = machine_->take(worker);
      if (block) {
        if (machine_->has_ready()) tell_workers();
        return block;
      }
      seen = work_signal_.load(std::memory_order_relaxed);
    }
    idle_until_told(worker, seen);
  }
}

bool CpuBackend::run_block(std::uint32_t worker,
                           const BlockOfWork& block,
                           Time& started,
                           Time& ended) {
  std::string what;
  try {
    started = clock_.now();
    work_->run(block.task, block.kernel, block.block);
    ended = clock_.now();
    if (options_.record_blocks) {
      buffers_[worker].add({.task = block.task,
                            .kernel = block.kernel,
                            .block = block.block,
                            .worker = worker,
                            .started = started,
                            .ended = ended});
    }
    return true;
  } catch (const std::bad_alloc&) {
    what = "ran out of memory";
  } catch (const std::exception& error) {
    what = fmt::format("failed: {}", error.what());
  } catch (...) {
    what = "failed with an exception of an unknown type";
  }
  const Guard guard(lock_);
  fail(std::make_exception_ptr(ExecutionError(fmt::format("task {}, kernel {}, block {} {}",
                                                          graph_->name(block.task),
                                                          block.kernel,
                                                          block.block,
                                                          what))));
  return false;
}

/// Until the signal is no longer what was seen: looks for a while, then sleeps.
void CpuBackend::idle_until_told(std::uint32_t worker, std::uint32_t seen) const {
  constexpr int looks_per_clock = 32;
  const bool yields = gives_way(worker) || !options_.pin;
  const Time until = clock_.now() + options_.spin;
  do {
    for (int look = 0; look < looks_per_clock; ++look) {
      if (work_signal_.load(std::memory_order_acquire) != seen) return;
      if (yields) {
        std::this_thread::yield();
      } else {
        relax();
      }
    }
  } while (clock_.now() < until);
  work_signal_.wait(seen);
}

void CpuBackend::tell_workers() {
  work_signal_.fetch_add(1);
  work_signal_.notify_all();
}

void CpuBackend::tell_workers_of_work() {
  if (machine_->has_ready() && gate_.load(std::memory_order_relaxed) != 0) tell_workers();
}

void CpuBackend::tell_host_if_satisfied() {
  if (!host_wait_ || !satisfied(*host_wait_)) return;
  host_signal_.fetch_add(1);
  host_signal_.notify_all();
}

void CpuBackend::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  ended_ = true;
  tell_workers();
  host_signal_.fetch_add(1);
  host_signal_.notify_all();
}

/// Nothing runs, nothing can start, and the host waits for what will never be.
void CpuBackend::fail_if_stuck() {
  if (ended_ || machine_->running() > 0 || machine_->has_ready() || !host_wait_ ||
      satisfied(*host_wait_)) {
    return;
  }
  fail(std::make_exception_ptr(InfeasibleError(
      fmt::format("the execution cannot go on (deadlock): {} of {} tasks are complete, and{}",
                  machine_->completed_tasks(),
                  graph_->task_count(),
                  machine_->describe_queues()))));
}

/// Time 0: all workers are awake and wait at the gate.
void CpuBackend::release_workers() {
  while (inside_.load() < workers_) std::this_thread::yield();
  clock_.restart();
  gate_.store(1, std::memory_order_release);
}

void CpuBackend::begin_run(const RunRequest& request) {
  SCHEDLAB_EXPECTS(work_ != nullptr, "a run on the CPU without work");
  work_->reset();
  graph_ = &request.graph;
  machine_.emplace(request.graph, *work_, options_.priority_levels, workers_);
  for (SpanBuffer& buffer : buffers_) buffer.clear();
  host_wait_.reset();
  gate_.store(0);
  const Guard guard(lock_);
  failure_ = thread_failure_;
  ended_ = failure_ != nullptr;
}

std::vector<LoadedNode> CpuBackend::load_graph(const GraphRow& row, LaunchObserver* /*observer*/) {
  machine_->load_graph(row.graph, row.shape);
  return {};
}

CpuClock CpuBackend::start_clock() {
  if (policy_ != nullptr) {
    const Guard guard(lock_);
    machine_->dispatch_by(*policy_, Time{});
  }
  bound_.emplace(preloaded() ? -1 : host_core_);
  awake_ = true;
  run_.fetch_add(1);
  run_.notify_all();
  if (!preloaded() && policy_ == nullptr) {
    sleep_exactly();
    release_workers();
  }
  clock_.restart();
  return clock_;
}

/// Every worker comes in once and goes out again.
void CpuBackend::drain_workers() {
  if (!awake_) return;
  {
    const Guard guard(lock_);
    ended_ = true;
    tell_workers();
  }
  if (gate_.load() == 0) release_workers();
  while (true) {
    const std::uint32_t inside = inside_.load();
    if (inside == 0) break;
    inside_.wait(inside);
  }
  awake_ = false;
}

void CpuBackend::finish(Execution& out) {
  const Time host_end = clock_.now();
  drain_workers();
  out.trace.tasks = machine_->spans(host_end);
  out.trace.flows = machine_->flows();
  Time last{};
  for (const TaskSpan& span : out.trace.tasks) last = std::max(last, span.ended);
  if (preloaded() || policy_ != nullptr) {  // no task waits for a host
    for (TaskSpan& span : out.trace.tasks) span.submitted = Time{};
  } else if (!out.trace.hosts.empty()) {
    last = std::max(last, out.trace.hosts.back().ended);
  }
  out.trace.ended = last;
  std::vector<const SpanBuffer*> buffers;
  for (const SpanBuffer& buffer : buffers_) buffers.push_back(&buffer);
  out.blocks = merge_spans(buffers);
  out.recording_overhead = block_overhead_ * static_cast<std::int64_t>(out.blocks.size());
}

void CpuBackend::end_run() {
  drain_workers();
  machine_.reset();
  bound_.reset();
}

}  // namespace schedlab::detail
