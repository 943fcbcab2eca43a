// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/ladder.hpp"

#include "sim/base/error.hpp"
#include "sim/bounds/pool_bounds.hpp"
#include "sim/bounds/tighten.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using bounds::Use;
using Times = IdVector<TaskId, Duration>;

/// Heads, tails and durations of all tasks.
class Relaxation {
 public:
  explicit Relaxation(const BoundProblem& on)
      : on_(on),
        graph_(on.problem.graph),
        delay_(min_delay(on)),
        kernel_delay_(min_kernel_delay(on)),
        duration_(graph_.task_count()),
        least_{.head = Times(graph_.task_count()), .tail = Times(graph_.task_count())},
        head_(least_.head),
        tail_(least_.tail) {
    const std::vector<TaskId> order = graph_.topological_order();
    for (const TaskId task : order) {
      duration_[task] = min_duration(on.problem, task);
      Duration head = min_start(on, task);
      for (const TaskId before : graph_.predecessors(task)) {
        head = std::max(head, head_[before] + duration_[before] + delay(before, task));
      }
      head_[task] = head;
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Duration tail{0};
      for (const TaskId after : graph_.successors(*it)) {
        tail = std::max(tail, delay(*it, after) + duration_[after] + tail_[after]);
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

  [[nodiscard]] Duration through(TaskId task) const {
    return head_[task] + duration_[task] + tail_[task];
  }
  /// From the start of the task on.
  [[nodiscard]] Duration rest(TaskId task) const { return duration_[task] + tail_[task]; }
  [[nodiscard]] Use use(TaskId task, std::int64_t amount) const {
    return {head_[task].count(), tail_[task].count(), amount, duration_[task].count()};
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
  [[nodiscard]] Duration delay(TaskId from, TaskId to) const {
    const bool one_task = on_.task_of != nullptr && (*on_.task_of)[from] == (*on_.task_of)[to];
    return one_task ? kernel_delay_ : delay_;
  }
  /// What decides the head: none(), its launch.
  [[nodiscard]] TaskId before(TaskId task) const {
    for (const TaskId other : graph_.predecessors(task)) {
      if (head_[other] + duration_[other] + delay(other, task) == head_[task]) return other;
    }
    return TaskId::none();
  }
  [[nodiscard]] TaskId after(TaskId task) const {
    for (const TaskId other : graph_.successors(task)) {
      if (delay(task, other) + duration_[other] + tail_[other] == tail_[task]) return other;
    }
    return TaskId::none();
  }

  const BoundProblem& on_;
  const TaskGraph& graph_;
  Duration delay_;
  Duration kernel_delay_;
  Times duration_;
  bounds::LeastTimes least_;
  Times& head_;
  Times& tail_;
};

BoundWitness host_launch_bound(const BoundProblem& on, const Relaxation& relaxed) {
  std::vector<std::pair<Duration, TaskId>> rests;
  for (const TaskId task : on.problem.graph.tasks()) rests.emplace_back(relaxed.rest(task), task);
  const bounds::HostBound found = bounds::host_bound(on, rests);
  return relaxed.with_tightenings(
      {.kind = BoundKind::host_launch, .bound = found.bound, .tail = found.rest});
}

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

void raise(BoundWitness& best, BoundWitness found) {
  if (found.bound > best.bound) best = std::move(found);
}

/// Bounds of all pools, the best of each kind.
struct PoolLadder {
  BoundWitness subset{.kind = BoundKind::subset};
  BoundWitness memory{.kind = BoundKind::memory};
  BoundWitness energetic{.kind = BoundKind::energetic};

  PoolLadder(const BoundProblem& on, const Relaxation& relaxed, Duration known, std::size_t work) {
    const TasksByDevice tasks{on.problem.graph};
    const std::int64_t step = time_step(on).count();
    std::vector<Use> uses;
    std::vector<std::pair<Pool, std::vector<Use>>> windows;
    for (const Pool& pool : pools_of(on)) {
      uses.clear();
      tasks.visit(on, pool, [&](TaskId task) {
        const std::int64_t taken = amount(on, pool, task);
        if (taken > 0) uses.push_back(relaxed.use(task, taken));
      });
      if (uses.empty()) continue;
      const auto found = bounds::subset_bound(uses, static_cast<std::int64_t>(pool.capacity));
      const bool held = held_throughout(on, pool);
      BoundWitness& best = pool.resource == BoundResource::memory ? memory : subset;
      raise(best,
            relaxed.with_tightenings(
                {.kind = best.kind,
                 .bound = Duration{held ? bounds::rounded_up(found.bound, step) : found.bound},
                 .pool = pool,
                 .head = Duration{found.head},
                 .tail = Duration{found.tail}}));
      if (work != 0 && held) windows.emplace_back(pool, uses);
    }
    known = std::max({known, subset.bound, memory.bound});
    for (const auto& [pool, of_pool] : windows) {
      const auto found = bounds::energetic_bound(
          of_pool, static_cast<std::int64_t>(pool.capacity), known.count(), step, work);
      if (!found) continue;
      energetic = relaxed.with_tightenings({.kind = BoundKind::energetic,
                                            .bound = Duration{found->bound},
                                            .pool = pool,
                                            .deadline = Duration{found->deadline},
                                            .begin = Duration{found->begin},
                                            .end = Duration{found->end}});
      known = energetic.bound;
    }
  }
};

}  // namespace

std::vector<BoundWitness> bound_ladder(const BoundProblem& on, const LadderOptions& options) {
  if (on.problem.graph.task_count() == 0) return {};
  Relaxation relaxed{on};
  const TaskGraph& graph = on.problem.graph;
  const std::size_t tasks = graph.task_count();
  const bool tightens =
      tasks * (tasks + graph.edge_count()) * (1 + pools_of(on).size()) <= options.tightening_work;
  std::vector<BoundWitness> ladder{relaxed.longest_path(), host_launch_bound(on, relaxed)};
  if (tightens) relaxed.tighten();
  const Duration known = std::max(ladder[0].bound, ladder[1].bound);
  PoolLadder pools{on, relaxed, known, options.energetic_work};
  if (tightens) {
    raise(pools.subset, through_one_task(relaxed, graph));
    // What is left after a task is mostly what a resource takes: that is then the better word.
    BoundWitness calls = host_launch_bound(on, relaxed);
    const Duration others =
        std::max({pools.subset.bound, pools.memory.bound, pools.energetic.bound});
    if (calls.bound > others) raise(ladder[1], std::move(calls));
  }
  for (BoundWitness* witness : {&pools.subset, &pools.memory, &pools.energetic}) {
    if (witness->bound > Duration{0}) ladder.push_back(std::move(*witness));
  }
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
