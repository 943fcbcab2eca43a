// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/ladder.hpp"

#include "sim/base/error.hpp"
#include "sim/bounds/launch_or_work.hpp"
#include "sim/bounds/pool_bounds.hpp"
#include "sim/bounds/refutation.hpp"
#include "sim/bounds/task_kinds.hpp"
#include "sim/bounds/tighten.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

namespace schedlab {
namespace {

using bounds::Use;
using Times = IdVector<TaskId, Duration>;

/// Heads, tails and durations of all tasks.
class Relaxation {
 public:
  Relaxation(const BoundProblem& on, const TaskKinds& kinds)
      : on_(on),
        graph_(on.problem.graph),
        delay_(on),
        duration_(graph_.task_count()),
        least_{.head = Times(graph_.task_count()), .tail = Times(graph_.task_count())},
        head_(least_.head),
        tail_(least_.tail) {
    const std::vector<TaskId> order = graph_.topological_order();
    const auto durations = kinds.ask([&](TaskId task) { return min_duration(on.problem, task); });
    const auto starts = kinds.ask([&](TaskId task) { return min_start(on, task); });
    for (const TaskId task : order) {
      duration_[task] = durations[kinds.of(task)];
      Duration head = starts[kinds.of(task)];
      for (const TaskId before : graph_.predecessors(task)) {
        head = std::max(head, head_[before] + duration_[before] + delay_(before, task));
      }
      head_[task] = head;
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Duration tail{0};
      for (const TaskId after : graph_.successors(*it)) {
        tail = std::max(tail, delay_(*it, after) + duration_[after] + tail_[after]);
      }
      tail_[*it] = tail;
    }
  }

  Relaxation(const Relaxation&) = delete;
  Relaxation& operator=(const Relaxation&) = delete;

  void tighten() { bounds::tighten(on_, duration_, least_); }
  [[nodiscard]] BoundWitness with_tightenings(BoundWitness witness) const {
    witness.heads = least_.heads;
    witness.tails = least_.tails;
    return witness;
  }

  [[nodiscard]] Duration head(TaskId task) const { return head_[task]; }
  [[nodiscard]] Duration tail(TaskId task) const { return tail_[task]; }
  [[nodiscard]] Duration through(TaskId task) const {
    return head_[task] + duration_[task] + tail_[task];
  }
  [[nodiscard]] Use use(const Pool& pool, TaskId task, std::int64_t amount) const {
    return {use_head(on_, pool, task, head_[task]).count(),
            use_tail(on_, pool, task, tail_[task]).count(),
            amount,
            duration_[task].count()};
  }
  /// A result on its way, from the end of what makes it to the start of what reads it first.
  [[nodiscard]] Use use(const LinkUse& link) const {
    Duration rest = Duration::max();
    for (const TaskId reader : graph_.successors(link.producer)) {
      if (graph_.rank(reader) == link.to) rest = std::min(rest, duration_[reader] + tail_[reader]);
    }
    const Duration made = head_[link.producer] + duration_[link.producer];
    return {made.count(), rest.count(), link.time, link.time};
  }
  [[nodiscard]] bounds::RefutationProblem to_refute() const {
    return {on_, duration_, head_, tail_};
  }

  [[nodiscard]] BoundWitness longest_path() const {
    TaskId task{0};
    for (const TaskId other : graph_.tasks()) {
      if (through(other) > through(task)) task = other;
    }
    BoundWitness witness{.kind = BoundKind::latency_path, .bound = through(task)};
    for (TaskId at = task; at.valid(); at = before(at)) witness.path.push_back(at);
    std::reverse(witness.path.begin(), witness.path.end());
    for (TaskId at = after(task); at.valid(); at = after(at)) witness.path.push_back(at);
    return witness;
  }

 private:
  /// What decides the head: none(), its launch.
  [[nodiscard]] TaskId before(TaskId task) const {
    for (const TaskId other : graph_.predecessors(task)) {
      if (head_[other] + duration_[other] + delay_(other, task) == head_[task]) return other;
    }
    return TaskId::none();
  }
  [[nodiscard]] TaskId after(TaskId task) const {
    for (const TaskId other : graph_.successors(task)) {
      if (delay_(task, other) + duration_[other] + tail_[other] == tail_[task]) return other;
    }
    return TaskId::none();
  }

  const BoundProblem& on_;
  const TaskGraph& graph_;
  MinDelays delay_;
  Times duration_;
  bounds::LeastTimes least_;
  Times& head_;
  Times& tail_;
};

/// One task from end to end; only what tightens it makes it more than a path.
BoundWitness through_one_task(const Relaxation& relaxed, const TaskGraph& graph) {
  TaskId task{0};
  for (const TaskId other : graph.tasks()) {
    if (relaxed.through(other) > relaxed.through(task)) task = other;
  }
  return relaxed.with_tightenings(
      {.kind = BoundKind::subset, .bound = relaxed.through(task), .path = {task}});
}

/// Tasks by the device that must run them, so that each pool looks only at those it may serve.
class TasksByDevice {
 public:
  explicit TasksByDevice(const TaskGraph& graph) {
    if (!graph.has_ranks()) return;
    of_rank_.resize(graph.rank_count());
    for (const TaskId task : graph.tasks()) of_rank_[graph.rank(task)].push_back(task);
  }
  template <class Visit>
  void visit(const BoundProblem& on, const Pool& pool, const Visit& visit) const {
    if (!pool.device.valid()) {
      for (const TaskId task : on.problem.graph.tasks()) visit(task);
    } else if (pool.device.value() < of_rank_.size()) {
      for (const TaskId task : of_rank_[pool.device.value()]) visit(task);
    }
  }

 private:
  std::vector<std::vector<TaskId>> of_rank_;
};

/// All tasks by falling head, and the places of their tails among different ones, as all resources
/// see them that serve tasks from start to end.
class RankedTasks {
 public:
  RankedTasks(const Relaxation& relaxed, const TaskGraph& graph) : place_(graph.task_count()) {
    std::vector<TimeOfTask> by_tail;
    by_tail.reserve(graph.task_count());
    by_head_.reserve(graph.task_count());
    for (const TaskId task : graph.tasks()) {
      by_head_.emplace_back(relaxed.head(task).count(), task);
      by_tail.emplace_back(relaxed.tail(task).count(), task);
    }
    std::ranges::sort(by_head_, std::ranges::greater{}, &TimeOfTask::first);
    std::ranges::sort(by_tail, {}, &TimeOfTask::first);
    for (const auto& [tail, task] : by_tail) {
      if (tails_.empty() || tails_.back() != tail) tails_.push_back(tail);
      place_[task] = static_cast<std::uint32_t>(tails_.size() - 1);
    }
  }
  /// Are all tails looked at?
  [[nodiscard]] bool exact() const { return tails_.size() <= bounds::most_tail_steps; }
  [[nodiscard]] std::span<const std::int64_t> tails() const { return tails_; }
  template <class Visit>
  void visit(const Visit& visit) const {
    for (const auto& [head, task] : by_head_) visit(task, head, place_[task]);
  }

 private:
  using TimeOfTask = std::pair<std::int64_t, TaskId>;
  std::vector<TimeOfTask> by_head_;
  std::vector<std::int64_t> tails_;
  IdVector<TaskId, std::uint32_t> place_;
};

/// Bounds of resources, the best of each kind.
class PoolLadder {
 public:
  /// `windows`: uses are kept for energetic().
  PoolLadder(const BoundProblem& on, const TaskKinds& kinds, bool windows)
      : on_(on),
        kinds_(kinds),
        tasks_(on.problem.graph),
        pools_(pools_of(on)),
        step_(time_step(on, kinds).count()),
        keeps_windows_(windows) {}

  [[nodiscard]] std::size_t pools() const { return pools_.size(); }

  /// Of host threads; else of all other pools.
  std::vector<BoundWitness> best(const Relaxation& relaxed, bool of_hosts) {
    std::vector<BoundWitness> found;
    std::optional<RankedTasks> ranked;
    taken_before_.clear();
    if (!of_hosts && !on_.problem.graph.has_ranks()) ranked.emplace(relaxed, on_.problem.graph);
    for (const Pool& pool : pools_) {
      if (serves_before_start(pool) != of_hosts) continue;
      const bool held = held_throughout(on_, pool);
      if (ranked && ranked->exact() && !(held && keeps_windows_)) {
        raise(found, relaxed, pool, held ? step_ : 1, of_ranked(*ranked, pool));
        continue;
      }
      if (of_hosts) {
        collect_launches(relaxed, pool);
      } else {
        collect(relaxed, pool);
      }
      raise_by_uses(found, relaxed, pool, held ? step_ : 1);
      if (held && keeps_windows_ && !uses_.empty()) {
        windows_.emplace_back(static_cast<std::uint32_t>(&pool - pools_.data()), uses_);
      }
    }
    return found;
  }

  /// Of the links between ranks.
  std::vector<BoundWitness> network(const Relaxation& relaxed) {
    std::vector<BoundWitness> found;
    const std::vector<LinkUse> all = link_uses(on_);
    for (auto use = all.begin(); use != all.end();) {
      Pool pool{.resource = BoundResource::link};
      pool.link = use->link;
      for (uses_.clear(); use != all.end() && use->link == pool.link; ++use) {
        if (use->time > 0) uses_.push_back(relaxed.use(*use));
      }
      raise_by_uses(found, relaxed, pool, 1);
    }
    return found;
  }

  /// By windows of the pools that best() has seen.
  [[nodiscard]] BoundWitness energetic(const Relaxation& relaxed,
                                       Duration known,
                                       const LadderOptions& options) const {
    BoundWitness best{.kind = BoundKind::energetic};
    for (const auto& [number, of_pool] : windows_) {
      const auto found = bounds::energetic_bound(of_pool,
                                                 static_cast<std::int64_t>(pools_[number].capacity),
                                                 known.count(),
                                                 step_,
                                                 options.energetic_work);
      if (!found) continue;
      known = Duration{found->bound};
      best = relaxed.with_tightenings(
          {.kind = BoundKind::energetic,
           .bound = known,
           .deadline = Duration{found->deadline},
           .deductions = {
               {.pool = number, .begin = Duration{found->begin}, .end = Duration{found->end}}}});
    }
    if (options.refutation_work == 0) return best;
    auto refuted = bounds::refutation_bound(
        relaxed.to_refute(), known, options.shortest, {options.refutation_work, options.enough});
    return refuted ? relaxed.with_tightenings(std::move(*refuted)) : best;
  }

 private:
  void collect(const Relaxation& relaxed, const Pool& pool) {
    uses_.clear();
    tasks_.visit(on_, pool, [&](TaskId task) {
      const std::int64_t taken = amount(on_, pool, task);
      if (taken > 0) uses_.push_back(relaxed.use(pool, task, taken));
    });
  }

  void collect_launches(const Relaxation& relaxed, const Pool& pool) {
    const auto launches = kinds_.ask([&](TaskId task) {
      return Use{.head = use_head(on_, pool, task, Duration{0}).count(),
                 .tail = use_tail(on_, pool, task, Duration{0}).count(),
                 .amount = amount(on_, pool, task)};
    });
    uses_.clear();
    for (const TaskId task : on_.problem.graph.tasks()) {
      Use use = launches[kinds_.of(task)];
      use.tail += relaxed.tail(task).count();
      if (use.amount > 0) uses_.push_back(use);
    }
  }

  /// 0: no task takes some of it, or the pool before shows no less, as of tasks that are as wide.
  bounds::SubsetBound of_ranked(const RankedTasks& ranked, const Pool& pool) {
    auto taken = kinds_.ask([&](TaskId task) { return amount(on_, pool, task); });
    const bool known = before_.resource == pool.resource && before_.capacity <= pool.capacity &&
                       taken == taken_before_;
    before_ = pool;
    taken_before_ = std::move(taken);
    const auto is_none = [](std::int64_t of_kind) { return of_kind == 0; };
    if (known || std::ranges::all_of(taken_before_, is_none)) return {};
    ranked_uses_.clear();
    ranked.visit([&](TaskId task, std::int64_t head, std::uint32_t place) {
      const std::int64_t of_task = taken_before_[kinds_.of(task)];
      if (of_task > 0) ranked_uses_.push_back({head, of_task, place});
    });
    return bounds::subset_bound(
        ranked_uses_, ranked.tails(), static_cast<std::int64_t>(pool.capacity));
  }

  void raise_by_uses(std::vector<BoundWitness>& found,
                     const Relaxation& relaxed,
                     const Pool& pool,
                     std::int64_t step) {
    const auto capacity = static_cast<std::int64_t>(pool.capacity);
    raise(found, relaxed, pool, step, bounds::subset_bound(uses_, capacity));
  }

  void raise(std::vector<BoundWitness>& found,
             const Relaxation& relaxed,
             const Pool& pool,
             std::int64_t step,
             const bounds::SubsetBound& subset) {
    if (subset.bound == 0) return;
    const BoundKind kind = kind_of(pool);
    auto place = std::ranges::find(found, kind, &BoundWitness::kind);
    if (place == found.end()) place = found.insert(place, {.kind = kind});
    const Duration bound{bounds::rounded_up(subset.bound, step)};
    if (bound <= place->bound) return;
    *place = relaxed.with_tightenings({.kind = kind,
                                       .bound = bound,
                                       .pool = pool,
                                       .head = Duration{subset.head},
                                       .tail = Duration{subset.tail}});
  }

  const BoundProblem& on_;
  const TaskKinds& kinds_;
  TasksByDevice tasks_;
  std::vector<Pool> pools_;
  std::int64_t step_;
  bool keeps_windows_;
  std::vector<Use> uses_;
  std::vector<bounds::RankedUse> ranked_uses_;
  Pool before_;  // that of_ranked() has seen, and what kinds take of it
  std::vector<std::int64_t> taken_before_;
  std::vector<std::pair<std::uint32_t, std::vector<Use>>> windows_;
};

}  // namespace

std::vector<BoundWitness> bound_ladder(const BoundProblem& on, const LadderOptions& options) {
  if (on.problem.graph.task_count() == 0) return {};
  const TaskKinds kinds{on.problem};
  Relaxation relaxed{on, kinds};
  PoolLadder pools{on, kinds, options.energetic_work != 0};
  const TaskGraph& graph = on.problem.graph;
  const std::size_t tasks = graph.task_count();
  std::vector<BoundWitness> ladder{relaxed.longest_path()};
  const auto raise = [&](BoundWitness found) {
    const auto place = std::ranges::find(ladder, found.kind, &BoundWitness::kind);
    if (place == ladder.end()) {
      if (found.bound > Duration{0}) ladder.push_back(std::move(found));
    } else if (found.bound > place->bound) {
      *place = std::move(found);
    }
  };
  std::ranges::for_each(pools.best(relaxed, true), raise);
  std::ranges::for_each(pools.network(relaxed), raise);
  const bool tightens =
      tasks * (tasks + graph.edge_count()) * (1 + pools.pools()) <= options.tightening_work;
  if (tightens) relaxed.tighten();
  std::ranges::for_each(pools.best(relaxed, false), raise);
  if (tightens) {
    raise(through_one_task(relaxed, graph));
    std::ranges::for_each(bounds::launch_or_work_bounds(on), raise);
  }
  raise(pools.energetic(relaxed, largest(ladder).bound, options));
  // What is left after a task is mostly what a resource takes: that is then the better word.
  if (tightens) {
    for (BoundWitness& calls : pools.best(relaxed, true)) {
      if (calls.bound > largest(ladder).bound) raise(std::move(calls));
    }
  }
  std::ranges::stable_sort(ladder, {}, &BoundWitness::kind);
  return ladder;
}

const BoundWitness& largest(const std::vector<BoundWitness>& ladder) {
  SCHEDLAB_EXPECTS(!ladder.empty(), "a problem without bounds");
  return *std::max_element(
      ladder.begin(), ladder.end(), [](const BoundWitness& a, const BoundWitness& b) {
        return a.bound < b.bound;
      });
}

}  // namespace schedlab
