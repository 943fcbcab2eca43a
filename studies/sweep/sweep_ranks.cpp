// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_ranks.hpp"

#include "sim/base/error.hpp"
#include "studies/sweep/sweep_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace schedlab {
namespace {

constexpr int ask_tag = 1;
constexpr std::uint64_t longest_assignment = 1024;
/// Each assignment is so small a part of what is left that ranks end together.
constexpr std::uint64_t assignments_per_rank = 8;
constexpr auto idle_nap = std::chrono::microseconds{200};

/// What a rank tells rank 0 when it asks for work: 'r' and rows, or 'e' and what went wrong.
constexpr char rows_mark = 'r';
constexpr char error_mark = 'e';

/// The rows of a range, worked out on `jobs` threads.
std::vector<FinishedRow> make_rows(RowMaker& maker,
                                   RowRange range,
                                   unsigned jobs,
                                   const StopFlag* stop) {
  std::vector<FinishedRow> all;
  const RowWork work = [&](RowRange part, unsigned worker) -> Commit {
    auto rows = std::make_shared<std::vector<FinishedRow>>(
        maker.make({range.first + part.first, range.first + part.last}, worker));
    return [&all, rows] {
      all.insert(
          all.end(), std::make_move_iterator(rows->begin()), std::make_move_iterator(rows->end()));
    };
  };
  parallel_rows(range.last - range.first, jobs, stop, work);
  return all;
}

unsigned threads_of_a_rank(const SweepRequest& request) {
  return request.jobs == 0 ? 1U : request.jobs;
}

/// Hands out ranges of positions; used by two threads of rank 0.
class Assignments {
 public:
  Assignments(std::uint64_t count, int ranks, const StopFlag* stop)
      : count_(count), ranks_(static_cast<std::uint64_t>(ranks)), stop_(stop) {}

  /// Empty when there is nothing more to do.
  [[nodiscard]] RowRange next() {
    const std::lock_guard lock(mutex_);
    if (stopped_ || stop_requested(stop_)) return {count_, count_};
    const std::uint64_t wanted = (count_ - next_) / (ranks_ * assignments_per_rank);
    const std::uint64_t length = std::clamp<std::uint64_t>(wanted, 1, longest_assignment);
    const RowRange range{next_, std::min(count_, next_ + length)};
    next_ = range.last;
    return range;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }

 private:
  std::mutex mutex_;
  std::uint64_t count_;
  std::uint64_t ranks_;
  const StopFlag* stop_;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
};

/// Rank 0's own work, on a thread beside the one that serves the others.
class OwnWork {
 public:
  OwnWork(RowMaker& maker, Assignments& assignments, unsigned jobs, const StopFlag* stop)
      : thread_([this, &maker, &assignments, jobs, stop] {
          try {
            for (RowRange range = assignments.next(); range.first < range.last;
                 range = assignments.next()) {
              put(make_rows(maker, range, jobs, stop));
            }
          } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          ended_ = true;
        }) {}
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  ~OwnWork() {
    if (thread_.joinable()) thread_.join();
  }

  /// Rows since the last call; sets `ended` when these were all.
  [[nodiscard]] std::vector<FinishedRow> take(bool& ended) {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    ended = ended_;
    return std::exchange(rows_, {});
  }

 private:
  void put(std::vector<FinishedRow> rows) {
    const std::lock_guard lock(mutex_);
    rows_.insert(
        rows_.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }

  std::mutex mutex_;
  std::vector<FinishedRow> rows_;
  std::exception_ptr failure_;
  bool ended_ = false;
  std::thread thread_;
};

/// Another rank as rank 0 sees it.
struct Worker {
  int rank = 0;
  std::byte question{};
  RankLink::Request asked = 0;
};

void send_range(RankLink& link, RowRange range, int to) {
  link.send(std::as_bytes(std::span{&range, 1}), to, ask_tag);
}

class RankedSweep {
 public:
  RankedSweep(ResultsStore& store,
              RankLink& link,
              Assignments& assignments,
              SweepCounts& counts,
              const SweepObserver& observer)
      : store_(store),
        link_(link),
        assignments_(assignments),
        counts_(counts),
        observer_(observer) {}

  void run(OwnWork& own) {
    for (int rank = 1; rank < link_.size(); ++rank) workers_.push_back({.rank = rank});
    for (Worker& worker : workers_) listen(worker);
    bool own_ended = false;
    while (!own_ended || !workers_.empty()) {
      const bool computed = take_own(own, own_ended);
      const bool served = serve_all();
      if (!computed && !served) std::this_thread::sleep_for(idle_nap);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  /// Adds the rows that this rank has made; false if there are none.
  bool take_own(OwnWork& own, bool& ended) {
    bool added = false;
    if (!ended && !failure_) {
      try {
        added = add(own.take(ended));
      } catch (...) {
        fail(std::current_exception());
      }
    }
    if (failure_) ended = true;
    return added;
  }

  /// Serves the ranks that ask; false if none does.
  bool serve_all() {
    bool any = false;
    for (auto worker = workers_.begin(); worker != workers_.end();) {
      const bool asks = link_.done(worker->asked);
      any = any || asks;
      worker = asks && !serve(*worker) ? workers_.erase(worker) : std::next(worker);
    }
    return any;
  }

  void listen(Worker& worker) {
    worker.asked = link_.start_receive({&worker.question, 1}, worker.rank, ask_tag);
  }

  /// Takes what a rank brings and gives it more; false when it has ended.
  bool serve(Worker& worker) {
    link_.wait(worker.asked);
    const std::string brought = receive_text(link_, worker.rank);
    if (brought.front() == error_mark) {
      fail(std::make_exception_ptr(
          DeviceError(fmt::format("rank {}: {}", worker.rank, brought.substr(1)))));
    } else {
      add(rows_from_bytes(std::string_view{brought}.substr(1)));
    }
    const RowRange range = assignments_.next();
    send_range(link_, range, worker.rank);
    if (range.first == range.last) return false;
    listen(worker);
    return true;
  }

  bool add(const std::vector<FinishedRow>& rows) {
    for (const FinishedRow& row : rows) row.add_to(store_);
    store_.commit_if_due();
    counts_.ran += rows.size();
    if (observer_ && !rows.empty()) observer_(counts_.kept + counts_.ran);
    return !rows.empty();
  }

  /// The others are still served, so that they end.
  void fail(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
    assignments_.stop();
  }

  ResultsStore& store_;
  RankLink& link_;
  Assignments& assignments_;
  SweepCounts& counts_;
  const SweepObserver& observer_;
  std::list<Worker> workers_;  // the addresses of their questions must stay
  std::exception_ptr failure_;
};

}  // namespace

SweepCounts run_scenarios_on_ranks(ScenarioSpace& space,
                                   ResultsStore& store,
                                   const SweepRequest& request,
                                   RankLink& link,
                                   const StopFlag* stop,
                                   const SweepObserver& observer) {
  const auto started = std::chrono::steady_clock::now();
  SweepCounts counts;
  const std::vector<bool> done = not_to_run(store, request.shard, counts);
  std::string marks;
  for (const bool present : done) marks += present ? '1' : '0';
  static_cast<void>(broadcast_text(link, marks));
  const unsigned jobs = threads_of_a_rank(request);
  RowMaker maker(space, done, request.check, stop, worker_count(jobs));
  Assignments assignments(space.grid().size(), link.size(), stop);
  try {
    OwnWork own(maker, assignments, jobs, stop);
    RankedSweep(store, link, assignments, counts, observer).run(own);
  } catch (...) {
    store.save_what_is_there();  // what is done is kept whatever happened
    throw;
  }
  store.flush();
  counts.interrupted = counts.kept + counts.ran < counts.scenarios;
  counts.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return counts;
}

void work_for_rank_0(ScenarioSpace& space,
                     const SweepRequest& request,
                     RankLink& link,
                     const StopFlag* stop) {
  std::vector<bool> done;
  for (const char mark : broadcast_text(link, {})) done.push_back(mark == '1');
  const unsigned jobs = threads_of_a_rank(request);
  RowMaker maker(space, done, request.check, stop, worker_count(jobs));
  std::string brings = rows_mark + rows_to_bytes({});
  for (;;) {
    const std::byte question{};
    link.send({&question, 1}, 0, ask_tag);
    send_text(link, brings, 0);
    RowRange range;
    link.receive(std::as_writable_bytes(std::span{&range, 1}), 0, ask_tag);
    if (range.first == range.last) return;
    try {
      brings = rows_mark + rows_to_bytes(make_rows(maker, range, jobs, stop));
    } catch (const std::exception& error) {
      brings = error_mark + std::string{error.what()};
    }
  }
}

}  // namespace schedlab
