// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/witness.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;
using Times = IdVector<TaskId, Duration>;
constexpr Duration none = Duration::min() / 4;

struct Checker {
  const BoundProblem& on;
  const BoundWitness& w;
  const TaskGraph& graph = on.problem.graph;
  const MinDelays delay{on};
  std::vector<Pool> pools = pools_of(on);
  std::vector<TaskId> order = graph.topological_order();
  Times least{graph.task_count()}, head{least}, tail{least};

  Duration shown() {
    for (const TaskId task : order) least[task] = min_duration(on.problem, task);
    for (const TaskId task : order) head[task] = min_start(on, task);
    const auto known = [&](const auto& claim) {
      return claim.pool < pools.size() && (!claim.task.valid() || least.contains(claim.task));
    };
    if (!std::ranges::all_of(w.heads, known) || !std::ranges::all_of(w.tails, known)) return none;
    follow(head, w.heads, true);
    follow(tail, w.tails, false);
    if (w.kind == BoundKind::energetic) {
      return std::ranges::all_of(w.deductions, known) ? refuted() : none;
    }
    if (!w.path.empty()) return along_path();
    if (kind_of(w.pool) != w.kind) return none;
    if (w.kind == BoundKind::network) return w.pool.capacity == 1 ? over_link() : none;
    const bool there = std::ranges::find(pools, w.pool) != pools.end();
    if (w.pivot.valid()) {
      const bool holds = there && !serves_before_start(w.pool) && least.contains(w.pivot);
      return holds ? around_pivot() : none;
    }
    return there ? at_least(w.pool, w.head, w.tail, head, tail) : none;
  }

  std::span<const TaskId> before(TaskId task, bool forwards) const {
    return forwards ? graph.predecessors(task) : graph.successors(task);
  }
  Duration gap(TaskId a, TaskId b, bool forwards) const {
    return forwards ? delay(a, b) : delay(b, a);
  }

  /// Longest paths, and what tasks before each other take. Leaves the order reversed.
  void follow(Times& times, const std::vector<Tightening>& claims, bool forwards) {
    for (const TaskId task : order) {
      for (const TaskId p : before(task, forwards)) {
        times[task] = std::max(times[task], times[p] + least[p] + gap(p, task, forwards));
      }
      for (const Tightening& claim : claims) {
        if (claim.task == task)
          times[task] = std::max(times[task], of_claim(claim, times, forwards));
      }
    }
    std::ranges::reverse(order);
  }
  Duration of_claim(const Tightening& claim, const Times& times, bool forwards) const {
    Times way(graph.task_count(), none);
    const bool hosts = serves_before_start(pools[claim.pool]);
    for (auto each = std::make_reverse_iterator(std::ranges::find(order, claim.task) + 1);
         each != order.rend();
         ++each) {
      if (*each != claim.task && way[*each] == none) continue;
      const Duration rest = *each == claim.task ? Duration{0} : way[*each] + least[*each];
      for (const TaskId p : before(*each, forwards)) {
        way[p] = std::max(way[p], rest + gap(p, *each, forwards));
      }
    }
    if (hosts) way[claim.task] = forwards ? -least[claim.task] : none;  // launched before its start
    return hosts && !forwards ? none
                              : at_least(pools[claim.pool], claim.head, claim.tail, times, way);
  }
  Duration at_least(
      const Pool& pool, Duration r, Duration q, const Times& heads, const Times& tails) const {
    Wide taken = 0;
    for (const TaskId task : order) {
      const bool counts = tails[task] != none && use_head(on, pool, task, heads[task]) >= r &&
                          use_tail(on, pool, task, tails[task]) >= q;
      if (counts) taken += amount(on, pool, task);
    }
    return lasting(r + q, pool, taken);
  }
  Duration over_link() const {
    Wide taken = 0;
    for (const LinkUse& use : link_uses(on)) {
      const bool counts = use.link == w.pool.link &&
                          head[use.producer] + least[use.producer] >= w.head &&
                          std::ranges::all_of(graph.successors(use.producer), [&](TaskId t) {
                            return graph.rank(t) != use.to || least[t] + tail[t] >= w.tail;
                          });
      if (counts) taken += use.time;
    }
    return lasting(w.head + w.tail, w.pool, taken);
  }
  /// `taken` of the pool takes that long, which ends on a step where it is held.
  Duration lasting(Duration time, const Pool& pool, Wide taken) const {
    if (taken <= 0) return none;
    const auto capacity = static_cast<std::int64_t>(pool.capacity);
    time += Duration{static_cast<std::int64_t>((taken + capacity - 1) / capacity)};
    const Duration step = held_throughout(on, pool) ? time_step(on) : Duration{1};
    return (time + step - Duration{1}) / step * step;
  }
  /// The pivot and all that are reached from it.
  IdVector<TaskId, bool> reached(bool forwards) const {
    std::vector<TaskId> sorted = order;
    if (!forwards) std::ranges::reverse(sorted);
    IdVector<TaskId, bool> found(graph.task_count(), false);
    found[w.pivot] = true;
    for (const TaskId task : sorted) {
      for (const TaskId p : before(task, forwards)) found[task] = found[task] || found[p];
    }
    return found;
  }
  /// Launches of the pivot and all before it, then its work and that of all after it; of all others
  /// either.
  Duration around_pivot() const {
    const IdVector<TaskId, bool> launched = reached(false);
    const IdVector<TaskId, bool> left = reached(true);
    Duration longest = none;
    for (const Pool& host : pools) {
      if (!serves_before_start(host)) continue;
      const auto threads = static_cast<std::int64_t>(host.capacity);
      const auto capacity = static_cast<std::int64_t>(w.pool.capacity);
      Wide scaled = 0;
      bool used = false;
      Duration head_of_all = Duration::max();
      Duration tail_of_all = Duration::max();
      for (const TaskId task : order) {
        const Wide launch = Wide{amount(on, host, task)} * capacity;
        const Wide work = Wide{amount(on, w.pool, task)} * threads;
        used = used || launch > 0;
        if (launched[task]) scaled += launch;
        if (left[task]) scaled += work;
        if (!launched[task] && !left[task]) scaled += std::min(launch, work);
        head_of_all = std::min(head_of_all, use_head(on, host, task, Duration{0}));
        tail_of_all = std::min(tail_of_all, use_tail(on, host, task, -least[task]));
      }
      const Wide both = Wide{threads} * capacity;
      const Duration shown{static_cast<std::int64_t>((scaled + both - 1) / both)};
      if (used) longest = std::max(longest, head_of_all + shown + tail_of_all);
    }
    return longest;
  }
  Duration along_path() const {
    for (std::size_t i = 0; i < w.path.size(); ++i) {
      if (!least.contains(w.path[i]) ||
          head[w.path[i]] + least[w.path[i]] + tail[w.path[i]] != w.bound)
        return none;
      if (i > 0 && std::ranges::count(graph.predecessors(w.path[i]), w.path[i - 1]) == 0)
        return none;
    }
    return w.bound;
  }
  /// Of the pool within a window, over what there is.
  Wide excess(const Pool& pool, Duration begin, Duration end) const {
    Wide taken = -Wide{static_cast<std::int64_t>(pool.capacity)} * (end - begin).count();
    for (const TaskId task : order) {
      const std::int64_t all = begin < end ? amount(on, pool, task) : 0;
      if (all == 0) continue;
      const Duration must = std::min({end - begin,
                                      least[task],
                                      end - (w.deadline - tail[task] - least[task]),
                                      head[task] + least[task] - begin});
      taken += Wide{all / least[task].count()} * std::max<std::int64_t>(0, must.count());
    }
    return begin < end ? taken : 0;
  }
  /// The task starts no earlier than `time`, or else no later.
  void restrict(TaskId task, bool later, Duration time) {
    Duration& bound = later ? head[task] : tail[task];
    bound = std::max(bound, later ? time : w.deadline - time - least[task]);
    follow(head, {}, true);
    follow(tail, {}, false);
  }
  Duration refuted() {
    const Duration step = time_step(on);
    std::vector<std::tuple<Deduction, Times, Times>> open;
    for (const Deduction& d : w.deductions) {
      if (d.task.valid() && (d.time % step != Duration{0} || !lasts_exactly(on))) return none;
      if (d.task.valid()) {
        open.emplace_back(d, head, tail);
        restrict(d.task, d.late, d.late ? d.time + step : d.time - step);
        if (d.begin >= d.end) continue;
      }
      const bool late = std::ranges::any_of(
          order, [&](TaskId t) { return head[t] + least[t] + tail[t] > w.deadline; });
      if (!late &&
          !(held_throughout(on, pools[d.pool]) && excess(pools[d.pool], d.begin, d.end) > 0))
        return none;
      if (open.empty()) return w.deadline / step * step + step;
      const Deduction asked = std::get<0>(open.back());
      std::tie(std::ignore, head, tail) = open.back();
      open.pop_back();
      restrict(asked.task, !asked.late, asked.time);
    }
    return none;
  }
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
