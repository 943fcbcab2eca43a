// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;
using Times = IdVector<TaskId, Duration>;

constexpr Duration none{-1};

class Checker {
 public:
  Checker(const BoundProblem& on, const BoundWitness& w)
      : on_(on), graph_(on.problem.graph), w_(w), order_(graph_.topological_order()) {
    least_ = head_ = tail_ = Times(graph_.task_count());
    for (const TaskId task : order_) least_[task] = min_duration(on.problem, task);
  }

  Duration shown() {
    if (w_.kind == BoundKind::latency_path) return of_path();
    for (const auto* claims : {&w_.heads, &w_.tails}) {
      for (const Tightening& claim : *claims) {
        if (claim.task.value() >= graph_.task_count()) return none;
        if (claim.pool != host_pool && claim.pool >= pools_.size()) return none;
      }
    }
    for (const TaskId task : order_) head_[task] = min_start(on_, task);
    reach(head_, w_.heads, true);
    reach(tail_, w_.tails, false);
    if (w_.kind == BoundKind::host_launch) {
      return of_calls(w_.tail, [&](TaskId task) { return least_[task] + tail_[task]; });
    }
    if (w_.kind == BoundKind::subset && w_.path.size() == 1 && w_.path[0].value() < head_.size()) {
      return head_[w_.path[0]] + least_[w_.path[0]] + tail_[w_.path[0]];
    }
    const bool memory = w_.pool.resource == BoundResource::memory;
    const bool there = std::ranges::find(pools_, w_.pool) != pools_.end();
    return there && memory == (w_.kind == BoundKind::memory) ? of_pool() : none;
  }

 private:
  [[nodiscard]] Duration delay(TaskId from, TaskId to) const {
    const bool one = on_.task_of != nullptr && (*on_.task_of)[from] == (*on_.task_of)[to];
    return one ? min_kernel_delay(on_) : min_delay(on_);
  }
  [[nodiscard]] std::span<const TaskId> before(TaskId task, bool forwards) const {
    return forwards ? graph_.predecessors(task) : graph_.successors(task);
  }

  void reach(Times& times, const std::vector<Tightening>& claims, bool forwards) {
    for (const TaskId task : order_) {
      for (const TaskId p : before(task, forwards)) {
        times[task] = std::max(times[task], times[p] + least_[p] + delay(p, task));
      }
      for (const Tightening& claim : claims) {
        if (claim.task == task)
          times[task] = std::max(times[task], of_claim(claim, times, forwards));
      }
    }
    std::ranges::reverse(order_);
  }

  /// The longest ways from the ends of the tasks before one to its start.
  Duration of_claim(const Tightening& claim, const Times& times, bool forwards) {
    Times way(graph_.task_count(), none);
    const auto at = std::ranges::find(order_, claim.task);
    for (auto each = std::make_reverse_iterator(at + 1); each != order_.rend(); ++each) {
      if (*each != claim.task && way[*each] == none) continue;
      const Duration rest = *each == claim.task ? Duration{0} : way[*each] + least_[*each];
      for (const TaskId p : before(*each, forwards)) {
        way[p] = std::max(way[p], rest + delay(p, *each));
      }
    }
    if (claim.pool == host_pool) {
      if (!forwards) return none;
      return of_calls(claim.tail, [&](TaskId task) {
        if (task == claim.task) return Duration{0};
        return way[task] == none ? none : way[task] + least_[task];
      });
    }
    Wide taken = 0;
    for (const TaskId task : order_) {
      const bool counts = way[task] != none && way[task] >= claim.tail && times[task] >= claim.head;
      if (counts) taken += amount(on_, pools_[claim.pool], task);
    }
    return taken == 0 ? none : after(claim.head + claim.tail, pools_[claim.pool], taken);
  }

  [[nodiscard]] Duration of_path() const {
    Duration length = w_.path.empty() ? none : Duration{0};
    for (std::size_t i = 0; i < w_.path.size(); ++i) {
      if (w_.path[i].value() >= graph_.task_count()) return none;
      length += least_[w_.path[i]] + (i == 0 ? min_start(on_, w_.path[i]) : Duration{0});
      if (i == 0) continue;
      const auto needs = graph_.predecessors(w_.path[i]);
      if (std::ranges::find(needs, w_.path[i - 1]) == needs.end()) return none;
      length += delay(w_.path[i - 1], w_.path[i]);
    }
    return length;
  }

  /// The launches of tasks with a rest of at least `rest`, and then that.
  template <class Rest>
  Duration of_calls(Duration rest, const Rest& rest_of) const {
    Duration launches{0}, preparations{0}, least_launch = Duration::max(),
                                           least_preparation = least_launch;
    for (const TaskId task : order_) {
      if (rest_of(task) < std::max(rest, Duration{0})) continue;
      launches += launch_time(on_, task);
      preparations += preparation_time(on_, task);
      least_launch = std::min(least_launch, launch_time(on_, task));
      least_preparation = std::min(least_preparation, preparation_time(on_, task));
    }
    if (least_launch == Duration::max()) return none;
    const std::int64_t hosts = host_threads(on_);
    return std::max(launches / hosts + least_preparation, preparations / hosts + least_launch) +
           min_launch_latency(on_.problem.platform) + rest;
  }

  [[nodiscard]] Duration of_pool() const {
    const bool window = w_.kind == BoundKind::energetic;
    if (window && (!held_throughout(on_, w_.pool) || w_.begin >= w_.end)) return none;
    Wide taken = 0;
    for (const TaskId task : order_) {
      const std::int64_t all = amount(on_, w_.pool, task), lasts = least_[task].count();
      if (all == 0) continue;
      if (!window) {
        if (head_[task] >= w_.head && tail_[task] >= w_.tail) taken += all;
        continue;
      }
      const Duration must = std::min({w_.end - w_.begin,
                                      least_[task],
                                      w_.end - (w_.deadline - tail_[task] - least_[task]),
                                      head_[task] + least_[task] - w_.begin});
      taken += Wide{all / lasts} * std::max<std::int64_t>(0, must.count());
    }
    if (window) taken -= Wide{static_cast<Wide>(w_.pool.capacity)} * (w_.end - w_.begin).count();
    return taken <= 0 ? none : after(window ? w_.deadline : w_.head + w_.tail, w_.pool, taken);
  }

  /// `taken` of the pool takes that long, which ends on a step where it is held.
  [[nodiscard]] Duration after(Duration time, const Pool& pool, Wide taken) const {
    const auto capacity = static_cast<std::int64_t>(pool.capacity);
    const Duration shown =
        time + Duration{static_cast<std::int64_t>((taken + capacity - 1) / capacity)};
    const Duration step = held_throughout(on_, pool) ? time_step(on_) : Duration{1};
    return (shown + step - Duration{1}) / step * step;
  }

  const BoundProblem& on_;
  const TaskGraph& graph_;
  const BoundWitness& w_;
  std::vector<TaskId> order_;
  std::vector<Pool> pools_ = pools_of(on_);
  Times least_, head_, tail_;
};

}  // namespace

std::optional<std::string> refuse_witness(const BoundProblem& on, const BoundWitness& witness) {
  const Duration shown = Checker{on, witness}.shown();
  if (shown == witness.bound) return std::nullopt;
  return fmt::format("the {} shows {} ps, not {} ps",
                     to_string(witness.kind),
                     shown.count(),
                     witness.bound.count());
}

}  // namespace schedlab
