// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/parallel_rows.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

namespace schedlab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t longest_range = 1024;
constexpr double range_ns = 2e7;  // long enough to hide the hand-over, short enough to commit often

/// Grows ranges while they are quick. Only the length of ranges depends on time, never a result.
class RangeLength {
 public:
  [[nodiscard]] std::uint64_t get() const { return length_.load(std::memory_order_relaxed); }
  void measured(std::uint64_t rows, Clock::duration time) {
    const double per_row =
        std::chrono::duration<double, std::nano>(time).count() / static_cast<double>(rows);
    const double wanted = range_ns / std::max(per_row, 1.0);
    const auto limit = static_cast<double>(std::min(longest_range, 4 * get()));
    length_.store(static_cast<std::uint64_t>(std::clamp(wanted, 1.0, limit)),
                  std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> length_{1};
};

#if defined(__SANITIZE_THREAD__)
/// Held by every stage of the pipeline, for the thread sanitizer alone: whatever one stage wrote is
/// seen by each stage that starts after its end. oneTBB guarantees that, but as it comes without
/// instrumentation the sanitizer cannot know.
class StageOrder {
 public:
  StageOrder() { __tsan_acquire(token()); }
  StageOrder(const StageOrder&) = delete;
  StageOrder& operator=(const StageOrder&) = delete;
  ~StageOrder() { __tsan_release(token()); }

 private:
  static void* token() {
    static char address = 0;  // never read or written
    return &address;
  }
};
#else
struct StageOrder {};
#endif

struct Finished {
  Commit commit;
  std::uint64_t rows = 0;
  std::exception_ptr failure;
};

/// The stages of the pipeline. Exceptions are carried to the end by hand: then the first failing
/// range in order is the one reported, whatever the threads did, and all before it are committed.
class RowStages {
 public:
  RowStages(std::uint64_t count, const StopFlag* stop, const RowWork& work)
      : count_(count), stop_(stop), work_(work) {}

  RowRange begin(oneapi::tbb::flow_control& flow) {
    if (next_ == count_ || failed_ || stop_requested(stop_)) {
      flow.stop();
      return {};
    }
    const RowRange rows{next_, std::min(count_, next_ + length_.get())};
    next_ = rows.last;
    return rows;
  }

  std::shared_ptr<Finished> compute(RowRange rows) {
    const auto started = Clock::now();
    const auto worker = static_cast<unsigned>(oneapi::tbb::this_task_arena::current_thread_index());
    auto finished = std::make_shared<Finished>();
    finished->rows = rows.last - rows.first;
    try {
      finished->commit = work_(rows, worker);
    } catch (...) {
      finished->failure = std::current_exception();
      failed_ = true;
    }
    length_.measured(finished->rows, Clock::now() - started);
    return finished;
  }

  void commit(Finished& finished) {
    if (failure_) return;
    failure_ = std::move(finished.failure);
    if (failure_) return;
    try {
      finished.commit();
      committed_ += finished.rows;
    } catch (...) {
      failure_ = std::current_exception();
      failed_ = true;
    }
  }

  /// Rows that were committed; throws what a row threw.
  [[nodiscard]] std::uint64_t result() {
    [[maybe_unused]] const StageOrder order;
    if (failure_) std::rethrow_exception(std::move(failure_));
    return committed_;
  }

 private:
  std::uint64_t count_;
  const StopFlag* stop_;
  const RowWork& work_;
  RangeLength length_;
  std::uint64_t next_ = 0;
  std::uint64_t committed_ = 0;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace

unsigned worker_count(unsigned jobs) {
  return jobs != 0 ? jobs : static_cast<unsigned>(oneapi::tbb::info::default_concurrency());
}

std::uint64_t parallel_rows(std::uint64_t count,
                            unsigned jobs,
                            const StopFlag* stop,
                            const RowWork& work) {
  const unsigned workers = worker_count(jobs);
  // More threads than cores are allowed when asked for.
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                          std::max(workers, worker_count(0)));
  oneapi::tbb::task_arena arena(static_cast<int>(workers));
  RowStages stages{count, stop, work};
  // The order comes first: what a stage captures was written by the thread that made it.
  const auto begin = [&](oneapi::tbb::flow_control& flow) {
    [[maybe_unused]] const StageOrder order;
    return stages.begin(flow);
  };
  const auto compute = [&](RowRange rows) {
    [[maybe_unused]] const StageOrder order;
    return stages.compute(rows);
  };
  const auto commit = [&](const std::shared_ptr<Finished>& rows) {
    [[maybe_unused]] const StageOrder order;
    stages.commit(*rows);
  };

  { [[maybe_unused]] const StageOrder order; }  // the arguments, before the first stage
  using oneapi::tbb::filter_mode;
  arena.execute([&] {
    oneapi::tbb::parallel_pipeline(
        4 * static_cast<std::size_t>(workers),
        oneapi::tbb::make_filter<void, RowRange>(filter_mode::serial_in_order, begin) &
            oneapi::tbb::make_filter<RowRange, std::shared_ptr<Finished>>(filter_mode::parallel,
                                                                          compute) &
            oneapi::tbb::make_filter<std::shared_ptr<Finished>, void>(filter_mode::serial_in_order,
                                                                      commit));
  });
  return stages.result();
}

}  // namespace schedlab
