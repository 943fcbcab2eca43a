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
  RangeLength length;
  std::uint64_t next = 0;
  std::uint64_t committed = 0;

  // Exceptions are carried to the end by hand: then the first failing range in order is the one
  // reported, whatever the threads did, and all before it are committed.
  std::atomic<bool> failed{false};
  std::exception_ptr failure;

  const auto begin = [&](oneapi::tbb::flow_control& flow) -> RowRange {
    [[maybe_unused]] const StageOrder order;
    if (next == count || failed || stop_requested(stop)) {
      flow.stop();
      return {};
    }
    const RowRange rows{next, std::min(count, next + length.get())};
    next = rows.last;
    return rows;
  };
  const auto compute = [&](RowRange rows) -> std::shared_ptr<Finished> {
    [[maybe_unused]] const StageOrder order;
    const auto started = Clock::now();
    const auto worker = static_cast<unsigned>(oneapi::tbb::this_task_arena::current_thread_index());
    auto finished = std::make_shared<Finished>();
    finished->rows = rows.last - rows.first;
    try {
      finished->commit = work(rows, worker);
    } catch (...) {
      finished->failure = std::current_exception();
      failed = true;
    }
    length.measured(finished->rows, Clock::now() - started);
    return finished;
  };
  const auto commit = [&](const std::shared_ptr<Finished>& finished) {
    [[maybe_unused]] const StageOrder order;
    if (failure) return;
    failure = std::move(finished->failure);
    if (failure) return;
    try {
      finished->commit();
      committed += finished->rows;
    } catch (...) {
      failure = std::current_exception();
      failed = true;
    }
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
  [[maybe_unused]] const StageOrder order;
  if (failure) std::rethrow_exception(std::move(failure));
  return committed;
}

}  // namespace schedlab
