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
        delay_(on),
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
      if (best_) found.push_back(*std::exchange(best_, std::nullopt));
    }
    return found;
  }

 private:
  static constexpr Duration none = Duration::min();

  [[nodiscard]] std::span<const TaskId> before_of(TaskId task) const {
    return forwards_ ? graph_.predecessors(task) : graph_.successors(task);
  }
  [[nodiscard]] Duration delay(TaskId before, TaskId task) const {
    return forwards_ ? delay_(before, task) : delay_(task, before);
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

  void add_use(std::size_t pool, TaskId task, Duration head, Duration way) {
    const std::int64_t taken = amounts_[pool][task];
    if (taken == 0) return;
    uses_.push_back({use_head(on_, pools_[pool], task, head).count(),
                     use_tail(on_, pools_[pool], task, way).count(),
                     taken,
                     0});
  }

  void raise_by_pool(TaskId task, std::size_t pool, IdVector<TaskId, Duration>& least) {
    const bool hosts = serves_before_start(pools_[pool]);
    if (hosts && !forwards_) return;
    uses_.clear();
    // The task itself is launched before its start.
    if (hosts) add_use(pool, task, least[task], -duration_[task]);
    for (const TaskId before : before_) add_use(pool, before, least[before], way_[before]);
    if (uses_.empty()) return;
    const auto found = subset_bound(uses_, static_cast<std::int64_t>(pools_[pool].capacity));
    const Duration bound{held_[pool] ? rounded_up(found.bound, step_) : found.bound};
    if (bound <= least[task]) return;
    least[task] = bound;
    best_ = {.task = task,
             .pool = static_cast<std::uint32_t>(pool),
             .head = Duration{found.head},
             .tail = Duration{found.tail}};
  }

  const BoundProblem& on_;
  const TaskGraph& graph_;
  const IdVector<TaskId, Duration>& duration_;
  bool forwards_;
  std::vector<Pool> pools_;
  MinDelays delay_;
  std::int64_t step_;
  std::vector<bool> held_;
  std::vector<IdVector<TaskId, std::int64_t>> amounts_;
  IdVector<TaskId, Duration> way_;
  std::vector<TaskId> before_;
  std::vector<Use> uses_;
  std::optional<Tightening> best_;
};

}  // namespace

void tighten(const BoundProblem& on,
             const IdVector<TaskId, Duration>& duration,
             LeastTimes& times) {
  const std::vector<TaskId> order = on.problem.graph.topological_order();
  times.heads = Tightener{on, duration, true}.run(order, times.head);
  times.tails = Tightener{on, duration, false}.run(order, times.tail);
}

}  // namespace schedlab::bounds
