// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/launch_or_work.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace schedlab::bounds {
namespace {

__extension__ using Wide = __int128;

/// Where a task is, as seen from the pivot.
enum class Side : std::uint8_t { either, before, after };

struct Amounts {
  Pool pool;
  IdVector<TaskId, std::int64_t> of;
  Duration around{0};  ///< of host threads: from the start of the run, and to a task's start
};

Amounts amounts_of(const BoundProblem& on, const Pool& pool) {
  Amounts amounts{.pool = pool, .of{}};
  Duration first = Duration::max();
  Duration last = Duration::max();
  for (const TaskId task : on.problem.graph.tasks()) {
    amounts.of.push_back(amount(on, pool, task));
    first = std::min(first, use_head(on, pool, task, Duration{0}));
    last = std::min(last, use_tail(on, pool, task, -min_duration(on.problem, task)));
  }
  amounts.around = first + last;
  return amounts;
}

class Pivots {
 public:
  explicit Pivots(const BoundProblem& on)
      : graph_(on.problem.graph), side_(graph_.task_count(), Side::either) {
    for (const Pool& pool : pools_of(on)) {
      Amounts amounts = amounts_of(on, pool);
      if (std::ranges::all_of(amounts.of, [](std::int64_t taken) { return taken == 0; })) continue;
      (serves_before_start(pool) ? hosts_ : devices_).push_back(std::move(amounts));
    }
  }

  [[nodiscard]] std::vector<BoundWitness> best() {
    std::vector<BoundWitness> found;
    if (hosts_.empty()) return found;
    for (const Amounts& device : devices_) {
      found.push_back({.kind = kind_of(device.pool), .pool = device.pool});
    }
    for (const TaskId pivot : graph_.tasks()) {
      divide(pivot);
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        const Duration bound = at(pivot, devices_[i]);
        if (bound <= found[i].bound) continue;
        found[i].bound = bound;
        found[i].pivot = pivot;
      }
    }
    return found;
  }

 private:
  void divide(TaskId pivot) {
    std::fill(side_.begin(), side_.end(), Side::either);
    spread(pivot, Side::before);
    spread(pivot, Side::after);
  }

  /// Leaves the pivot out.
  void spread(TaskId pivot, Side side) {
    open_.assign(1, pivot);
    while (!open_.empty()) {
      const TaskId task = open_.back();
      open_.pop_back();
      const std::span<const TaskId> next =
          side == Side::before ? graph_.predecessors(task) : graph_.successors(task);
      for (const TaskId other : next) {
        if (side_[other] == side) continue;
        side_[other] = side;
        open_.push_back(other);
      }
    }
  }

  [[nodiscard]] Duration at(TaskId pivot, const Amounts& device) const {
    Duration best{0};
    for (const Amounts& host : hosts_) {
      const auto threads = static_cast<std::int64_t>(host.pool.capacity);
      const auto capacity = static_cast<std::int64_t>(device.pool.capacity);
      Wide sum = 0;  // of time, times both
      for (const TaskId task : graph_.tasks()) {
        const Wide launch = Wide{host.of[task]} * capacity;
        const Wide work = Wide{device.of[task]} * threads;
        if (task == pivot) {
          sum += launch + work;
        } else if (side_[task] == Side::either) {
          sum += std::min(launch, work);
        } else {
          sum += side_[task] == Side::before ? launch : work;
        }
      }
      const Wide both = Wide{threads} * capacity;
      best = std::max(best,
                      host.around + Duration{static_cast<std::int64_t>((sum + both - 1) / both)});
    }
    return best;
  }

  const TaskGraph& graph_;
  std::vector<Amounts> hosts_;
  std::vector<Amounts> devices_;
  IdVector<TaskId, Side> side_;
  std::vector<TaskId> open_;
};

}  // namespace

std::vector<BoundWitness> launch_or_work_bounds(const BoundProblem& on) {
  return Pivots{on}.best();
}

}  // namespace schedlab::bounds
