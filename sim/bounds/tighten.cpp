// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/tighten.hpp"

#include "sim/bounds/pool_bounds.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace schedlab::bounds {
namespace {

/// One direction of the graph: heads are worked out forwards, tails backwards.
class Tightener {
 public:
  Tightener(const BoundProblem& on, const IdVector<TaskId, Duration>& duration, bool forwards)
      : on_(on),
        graph_(on.problem.graph),
        duration_(duration),
        forwards_(forwards),
        pools_(pools_of(on)),
        delay_(min_delay(on)),
        kernel_delay_(min_kernel_delay(on)),
        step_(time_step(on).count()),
        amounts_(pools_.size()),
        way_(graph_.task_count(), none) {
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      held_.push_back(held_throughout(on, pools_[i]));
      amounts_[i].resize(graph_.task_count());
      for (const TaskId task : graph_.tasks()) amounts_[i][task] = amount(on, pools_[i], task);
    }
  }

  std::vector<Tightening> run(std::vector<TaskId> order, IdVector<TaskId, Duration>& least) {
    if (!forwards_) std::reverse(order.begin(), order.end());
    std::vector<Tightening> found;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const TaskId task = order[place];
      for (const TaskId before : before_of(task)) {
        least[task] =
            std::max(least[task], least[before] + duration_[before] + delay(before, task));
      }
      find_ways(order, place);
      for (std::size_t pool = 0; pool < pools_.size(); ++pool) raise_by_pool(task, pool, least);
      if (forwards_) raise_by_host(task, least);
      if (best_) found.push_back(*std::exchange(best_, std::nullopt));
    }
    return found;
  }

 private:
  static constexpr Duration none{-1};

  [[nodiscard]] std::span<const TaskId> before_of(TaskId task) const {
    return forwards_ ? graph_.predecessors(task) : graph_.successors(task);
  }
  [[nodiscard]] Duration delay(TaskId a, TaskId b) const {
    const bool one_task = on_.task_of != nullptr && (*on_.task_of)[a] == (*on_.task_of)[b];
    return one_task ? kernel_delay_ : delay_;
  }

  /// The longest ways from the ends of the tasks before one to its start.
  void find_ways(const std::vector<TaskId>& order, std::size_t place) {
    for (const TaskId task : before_) way_[task] = none;
    before_.clear();
    const auto reach = [&](TaskId task, Duration rest) {
      for (const TaskId before : before_of(task)) {
        way_[before] = std::max(way_[before], rest + delay(before, task));
      }
    };
    reach(order[place], Duration{0});
    for (std::size_t i = place; i-- > 0;) {
      const TaskId task = order[i];
      if (way_[task] == none) continue;
      before_.push_back(task);
      reach(task, way_[task] + duration_[task]);
    }
  }

  void raise(TaskId task, Duration to, const Tightening& by, IdVector<TaskId, Duration>& least) {
    if (to <= least[task]) return;
    least[task] = to;
    best_ = by;
  }

  void raise_by_pool(TaskId task, std::size_t pool, IdVector<TaskId, Duration>& least) {
    uses_.clear();
    for (const TaskId before : before_) {
      const std::int64_t taken = amounts_[pool][before];
      if (taken == 0) continue;
      uses_.push_back({least[before].count(), way_[before].count(), taken, 0});
    }
    if (uses_.empty()) return;
    const auto found = subset_bound(uses_, static_cast<std::int64_t>(pools_[pool].capacity));
    const std::int64_t bound = held_[pool] ? rounded_up(found.bound, step_) : found.bound;
    raise(task,
          Duration{bound},
          {.task = task,
           .pool = static_cast<std::uint32_t>(pool),
           .head = Duration{found.head},
           .tail = Duration{found.tail}},
          least);
  }

  /// All tasks before it, and the task itself, are launched before it starts.
  void raise_by_host(TaskId task, IdVector<TaskId, Duration>& least) {
    rests_.clear();
    rests_.emplace_back(Duration{0}, task);
    for (const TaskId before : before_) {
      rests_.emplace_back(duration_[before] + way_[before], before);
    }
    const HostBound found = host_bound(on_, rests_);
    raise(task, found.bound, {.task = task, .pool = host_pool, .tail = found.rest}, least);
  }

  const BoundProblem& on_;
  const TaskGraph& graph_;
  const IdVector<TaskId, Duration>& duration_;
  bool forwards_;
  std::vector<Pool> pools_;
  Duration delay_;
  Duration kernel_delay_;
  std::int64_t step_;
  std::vector<bool> held_;
  std::vector<IdVector<TaskId, std::int64_t>> amounts_;
  IdVector<TaskId, Duration> way_;
  std::vector<TaskId> before_;
  std::vector<Use> uses_;
  std::vector<std::pair<Duration, TaskId>> rests_;
  std::optional<Tightening> best_;
};

}  // namespace

HostBound host_bound(const BoundProblem& on, std::vector<std::pair<Duration, TaskId>>& rests) {
  std::sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) {
    return std::pair{-a.first, a.second} < std::pair{-b.first, b.second};
  });
  const std::int64_t hosts = host_threads(on);
  const Duration latency = min_launch_latency(on.problem.platform);
  HostBound best;
  Duration launches{0};
  Duration preparations{0};
  Duration least_launch = Duration::max();
  Duration least_preparation = Duration::max();
  for (std::size_t i = 0; i < rests.size(); ++i) {
    const auto [rest, task] = rests[i];
    const Duration launch = launch_time(on, task);
    const Duration preparation = preparation_time(on, task);
    launches += launch;
    preparations += preparation;
    least_launch = std::min(least_launch, launch);
    least_preparation = std::min(least_preparation, preparation);
    if (i + 1 < rests.size() && rests[i + 1].first == rest) continue;
    const Duration bound =
        std::max(launches / hosts + least_preparation, preparations / hosts + least_launch) +
        latency + rest;
    if (bound > best.bound) best = {bound, rest};
  }
  return best;
}

void tighten(const BoundProblem& on,
             const IdVector<TaskId, Duration>& duration,
             LeastTimes& times) {
  const std::vector<TaskId> order = on.problem.graph.topological_order();
  times.heads = Tightener{on, duration, true}.run(order, times.head);
  times.tails = Tightener{on, duration, false}.run(order, times.tail);
}

}  // namespace schedlab::bounds
