// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_run.hpp"

#include "real_exec/cpu/cpu_threads.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace schedlab::detail {
namespace {

using Guard = std::lock_guard<SpinLock>;

}  // namespace

CpuThreads::CpuThreads(const CpuExecutorOptions& options) : options_(options) {
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
  if (options.pin) host_core_ = cores.front();
  buffers_.resize(workers_);
  if (options.record_blocks) block_overhead_ = schedlab::recording_overhead();
  start_threads(cores);
}

CpuThreads::~CpuThreads() {
  stop_threads();
}

void CpuThreads::start_threads(const std::vector<std::uint32_t>& cores) {
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

void CpuThreads::stop_threads() {
  quit_.store(true);
  run_.fetch_add(1);
  run_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void CpuThreads::worker_main(std::uint32_t worker, std::int64_t core) {
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

void CpuThreads::work_through_run(std::uint32_t worker) {
  inside_.fetch_add(1);
  while (gate_.load(std::memory_order_acquire) == 0) {
    if (gives_way(worker) || options_.host == HostPlacement::preloaded || !options_.pin) {
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
      machine_->finish(*block, started, ended);
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
std::optional<BlockOfWork> CpuThreads::next_block(std::uint32_t worker) {
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
    idle(worker, seen);
  }
}

bool CpuThreads::run_block(std::uint32_t worker,
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
void CpuThreads::idle(std::uint32_t worker, std::uint32_t seen) const {
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

void CpuThreads::tell_workers() {
  work_signal_.fetch_add(1);
  work_signal_.notify_all();
}

void CpuThreads::tell_host_if_satisfied() {
  if (!host_wait_ || !satisfied(*host_wait_)) return;
  host_signal_.fetch_add(1);
  host_signal_.notify_all();
}

void CpuThreads::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  ended_ = true;
  tell_workers();
  host_signal_.fetch_add(1);
  host_signal_.notify_all();
}

/// Nothing runs, nothing can start, and the host waits for what will never be.
void CpuThreads::fail_if_stuck() {
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
void CpuThreads::release_workers() {
  while (inside_.load() < workers_) std::this_thread::yield();
  clock_.restart();
  gate_.store(1, std::memory_order_release);
}

void CpuThreads::run(const TaskGraph& graph,
                     CpuWork& work,
                     const IdVector<StreamId, StreamSpec>& streams,
                     const std::vector<DeviceGraph>& graphs,
                     const CallSource& calls,
                     Execution& out) {
  work.reset();
  graph_ = &graph;
  work_ = &work;
  machine_.emplace(graph, work, options_.priority_levels, workers_);
  machine_->open(streams, graphs);
  for (SpanBuffer& buffer : buffers_) buffer.clear();
  ended_ = false;
  host_wait_.reset();
  last_query_set_ = false;
  {
    const Guard guard(lock_);
    failure_ = thread_failure_;
    ended_ = failure_ != nullptr;
  }
  gate_.store(0);
  run_.fetch_add(1);
  run_.notify_all();
  const bool preloaded = options_.host == HostPlacement::preloaded;
  const BoundToCore bound(preloaded ? -1 : host_core_);
  if (!preloaded) {
    sleep_exactly();
    release_workers();
  }
  try {
    clock_.restart();
    make_calls(calls, out);
    host_calling_ = false;
    if (preloaded) release_workers();
    wait_for({});
  } catch (...) {
    const Guard guard(lock_);
    fail(std::current_exception());
  }
  finish_run(out);
}

void CpuThreads::finish_run(Execution& out) {
  const Time host_end = clock_.now();
  if (gate_.load() == 0) release_workers();
  {
    const Guard guard(lock_);
    ended_ = true;
    tell_workers();
  }
  // Every worker comes in once and goes out again.
  while (true) {
    const std::uint32_t inside = inside_.load();
    if (inside == 0) break;
    inside_.wait(inside);
  }
  out.trace.tasks = machine_->spans(host_end);
  out.trace.flows = machine_->flows();
  Time last{};
  for (const TaskSpan& span : out.trace.tasks) last = std::max(last, span.ended);
  if (options_.host == HostPlacement::preloaded) {
    for (TaskSpan& span : out.trace.tasks) span.submitted = Time{};
  } else if (!out.trace.hosts.empty()) {
    last = std::max(last, out.trace.hosts.back().ended);
  }
  out.trace.ended = last;
  std::vector<const SpanBuffer*> buffers;
  for (const SpanBuffer& buffer : buffers_) buffers.push_back(&buffer);
  out.blocks = merge_spans(buffers);
  out.recording_overhead = block_overhead_ * static_cast<std::int64_t>(out.blocks.size());
  machine_.reset();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace schedlab::detail
