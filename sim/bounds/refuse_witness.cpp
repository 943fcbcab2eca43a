// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/witness.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;
using Times = IdVector<TaskId, Duration>;

struct Reach {
  Times head, tail, least;
};

Duration delay(const BoundProblem& on, TaskId from, TaskId to) {
  const bool one = on.task_of != nullptr && (*on.task_of)[from] == (*on.task_of)[to];
  return one ? min_kernel_delay(on) : min_delay(on);
}

Reach reach(const BoundProblem& on) {
  const TaskGraph& graph = on.problem.graph;
  Reach r{Times(graph.task_count()), Times(graph.task_count()), Times(graph.task_count())};
  const auto order = graph.topological_order();
  for (const TaskId task : order) {
    r.least[task] = min_duration(on.problem, task);
    r.head[task] = min_start(on, task);
    for (const TaskId p : graph.predecessors(task)) {
      r.head[task] = std::max(r.head[task], r.head[p] + r.least[p] + delay(on, p, task));
    }
  }
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    for (const TaskId s : graph.successors(*task)) {
      r.tail[*task] = std::max(r.tail[*task], delay(on, *task, s) + r.least[s] + r.tail[s]);
    }
  }
  return r;
}

Duration of_path(const BoundProblem& on, const std::vector<TaskId>& path) {
  const TaskGraph& graph = on.problem.graph;
  Duration length{path.empty() ? -1 : 0};
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i].value() >= graph.task_count()) return Duration{-1};
    length += min_duration(on.problem, path[i]);
    if (i == 0) length += min_start(on, path[i]);
    if (i == 0) continue;
    const auto before = graph.predecessors(path[i]);
    if (std::ranges::find(before, path[i - 1]) == before.end()) return Duration{-1};
    length += delay(on, path[i - 1], path[i]);
  }
  return length;
}

Duration of_calls(const BoundProblem& on, const Reach& r, Duration tail) {
  Duration launches{0}, preparations{0}, least_launch = Duration::max(),
                                         least_preparation = least_launch;
  for (const TaskId task : on.problem.graph.tasks()) {
    if (r.least[task] + r.tail[task] < tail) continue;
    launches += launch_time(on, task);
    preparations += preparation_time(on, task);
    least_launch = std::min(least_launch, launch_time(on, task));
    least_preparation = std::min(least_preparation, preparation_time(on, task));
  }
  if (least_launch == Duration::max()) return Duration{-1};
  const std::int64_t hosts = host_threads(on);
  return std::max(launches / hosts + least_preparation, preparations / hosts + least_launch) +
         min_launch_latency(on.problem.platform) + tail;
}

Duration of_pool(const BoundProblem& on, const Reach& r, const BoundWitness& w) {
  const bool window = w.kind == BoundKind::energetic;
  if (window && (!held_throughout(on, w.pool) || w.begin >= w.end)) return Duration{-1};
  Wide taken = 0;
  for (const TaskId task : on.problem.graph.tasks()) {
    const std::int64_t all = amount(on, w.pool, task), lasts = r.least[task].count();
    if (all == 0) continue;
    if (!window) {
      if (r.head[task] >= w.head && r.tail[task] >= w.tail) taken += all;
      continue;
    }
    const Duration latest = w.deadline - r.tail[task] - r.least[task];
    const Duration must = std::min(
        {w.end - w.begin, r.least[task], w.end - latest, r.head[task] + r.least[task] - w.begin});
    taken += Wide{all / lasts} * std::max<std::int64_t>(0, must.count());
  }
  const auto capacity = static_cast<std::int64_t>(w.pool.capacity);
  if (window) taken -= Wide{capacity} * (w.end - w.begin).count();
  if (taken <= 0) return Duration{-1};
  const Duration needs{static_cast<std::int64_t>((taken + capacity - 1) / capacity)};
  return needs + (window ? w.deadline : w.head + w.tail);
}

}  // namespace

std::optional<std::string> refuse_witness(const BoundProblem& on, const BoundWitness& w) {
  Duration shown{-1};
  if (w.kind == BoundKind::latency_path) {
    shown = of_path(on, w.path);
  } else if (w.kind == BoundKind::host_launch) {
    shown = of_calls(on, reach(on), w.tail);
  } else {
    const auto pools = pools_of(on);
    const bool memory = w.pool.resource == BoundResource::memory;
    if (memory != (w.kind == BoundKind::memory) ||
        std::ranges::find(pools, w.pool) == pools.end()) {
      return fmt::format("the machine has no such {}", to_string(w.pool.resource));
    }
    shown = of_pool(on, reach(on), w);
  }
  if (shown == w.bound) return std::nullopt;
  return fmt::format(
      "the {} shows {} ps, not {} ps", to_string(w.kind), shown.count(), w.bound.count());
}

}  // namespace schedlab
