// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/refutation.hpp"

#include "sim/bounds/pool_bounds.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace schedlab::bounds {
namespace {

using Ps = std::int64_t;

/// Earliest starts and latest ends, in ps.
struct Spans {
  std::vector<Ps> first;
  std::vector<Ps> last;
};

/// A pool that is held throughout, with what tasks hold of it.
struct HeldPool {
  std::uint32_t number = 0;
  Ps capacity = 1;
  std::vector<std::uint32_t> tasks;
  std::vector<Ps> rate;  // of these
  Ps highest = 0;        // rate
};

struct Edge {
  std::uint32_t other;
  Ps delay;
};

/// Refutes one deadline after another.
class Refuter {
 public:
  Refuter(const RefutationProblem& problem, RefutationLimits limits)
      : problem_(problem),
        graph_(problem.on.problem.graph),
        step_(time_step(problem.on).count()),
        work_left_(static_cast<Ps>(limits.work)),
        enough_(limits.enough) {
    const MinDelays delay{problem.on};
    before_.resize(graph_.task_count());
    after_.resize(graph_.task_count());
    for (const TaskId task : graph_.topological_order()) order_.push_back(task.value());
    for (const TaskId task : graph_.tasks()) {
      duration_.push_back(problem.duration[task].count());
      for (const TaskId p : graph_.predecessors(task)) {
        before_[task.value()].push_back({p.value(), delay(p, task).count()});
        after_[p.value()].push_back({task.value(), delay(p, task).count()});
      }
    }
    add_pools();
  }

  [[nodiscard]] Ps step() const { return step_; }
  [[nodiscard]] bool affords_a_pass() const {
    Ps pass = 0;
    for (const HeldPool& pool : pools_) {
      const auto tasks = static_cast<Ps>(pool.tasks.size());
      pass += 9 * tasks * tasks * tasks;
    }
    return pass > 0 && pass * fewest_passes <= work_left_;
  }
  [[nodiscard]] bool has_work() const {
    return work_left_ > 0 && !(enough_ != nullptr && (*enough_)());
  }

  /// The deductions that show it; empty: not shown.
  std::vector<Deduction> refute(Ps deadline) {
    deductions_.clear();
    Spans spans{.first = {}, .last = {}};
    for (const TaskId task : graph_.tasks()) {
      spans.first.push_back(problem_.head[task].count());
      spans.last.push_back(deadline - problem_.tail[task].count());
    }
    nodes_left_ = most_nodes;
    if (!refutes(std::move(spans), 0)) return {};
    return std::move(deductions_);
  }

 private:
  static constexpr Ps fewest_passes = 50;
  static constexpr int most_nodes = 500;  // of the tree of start times; assumed
  static constexpr std::size_t most_deductions = 200'000;
  static constexpr Ps coarsest = 4;  // parts of the time a task may start in, to shave; assumed
  static constexpr Ps finest = 64;   // assumed

  void add_pools() {
    const std::vector<Pool> pools = pools_of(problem_.on);
    for (std::uint32_t i = 0; i < pools.size(); ++i) {
      if (!held_throughout(problem_.on, pools[i])) continue;
      HeldPool held{
          .number = i, .capacity = static_cast<Ps>(pools[i].capacity), .tasks = {}, .rate = {}};
      Ps all = 0;
      for (const TaskId task : graph_.tasks()) {
        const Ps taken = amount(problem_.on, pools[i], task);
        if (taken == 0) continue;
        held.tasks.push_back(task.value());
        held.rate.push_back(taken / duration_[task.value()]);
        held.highest = std::max(held.highest, held.rate.back());
        all += held.rate.back();
      }
      if (all > held.capacity) pools_.push_back(std::move(held));
    }
  }

  bool follow_paths(Spans& spans) const {
    for (const std::uint32_t task : order_) {
      for (const Edge& edge : before_[task]) {
        spans.first[task] = std::max(spans.first[task],
                                     spans.first[edge.other] + duration_[edge.other] + edge.delay);
      }
    }
    bool fits = true;
    for (auto task = order_.rbegin(); task != order_.rend(); ++task) {
      for (const Edge& edge : after_[*task]) {
        spans.last[*task] = std::min(spans.last[*task],
                                     spans.last[edge.other] - duration_[edge.other] - edge.delay);
      }
      fits = fits && spans.first[*task] + duration_[*task] <= spans.last[*task];
    }
    return fits;
  }

  enum class Found : std::uint8_t { nothing, change, contradiction };

  /// One pass over all windows of a pool; every change is a deduction.
  Found reason(const HeldPool& pool, Spans& spans) {
    begins_.clear();
    ends_.clear();
    for (const std::uint32_t task : pool.tasks) {
      const Ps end = spans.first[task] + duration_[task];
      const Ps start = spans.last[task] - duration_[task];
      begins_.insert(begins_.end(), {spans.first[task], end, start});
      ends_.insert(ends_.end(), {spans.last[task], start, end});
    }
    for (std::vector<Ps>* times : {&begins_, &ends_}) {
      std::sort(times->begin(), times->end());
      times->erase(std::unique(times->begin(), times->end()), times->end());
    }
    Found found = Found::nothing;
    for (const Ps begin : begins_) {
      for (auto end = std::upper_bound(ends_.begin(), ends_.end(), begin); end != ends_.end();
           ++end) {
        const Found here = look_at(pool, begin, *end, spans);
        if (here == Found::contradiction) return here;
        if (here == Found::change) found = here;
      }
      if (work_left_ <= 0) return Found::nothing;
    }
    return found;
  }

  Found look_at(const HeldPool& pool, Ps begin, Ps end, Spans& spans) {
    const std::size_t count = pool.tasks.size();
    work_left_ -= static_cast<Ps>(count);
    energy_.resize(count);
    Ps sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t task = pool.tasks[i];
      const Ps inside = std::min({end - begin,
                                  duration_[task],
                                  spans.first[task] + duration_[task] - begin,
                                  end - spans.last[task] + duration_[task]});
      sum += energy_[i] = pool.rate[i] * std::max<Ps>(0, inside);
    }
    const Ps slack = pool.capacity * (end - begin) - sum;
    if (slack < 0) {
      deductions_.push_back({.pool = pool.number, .begin = Duration{begin}, .end = Duration{end}});
      return Found::contradiction;
    }
    if (slack >= pool.highest * (end - begin)) return Found::nothing;
    work_left_ -= static_cast<Ps>(count);
    Found found = Found::nothing;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t task = pool.tasks[i];
      const Ps longest = (slack + energy_[i]) / pool.rate[i];  // of it within the window
      const Ps whole = std::min(end - begin, duration_[task]);
      if (whole <= longest) continue;
      const Deduction window{.task = TaskId{task},
                             .pool = pool.number,
                             .begin = Duration{begin},
                             .end = Duration{end}};
      if (spans.first[task] + duration_[task] - begin > longest) {
        const Ps start = rounded_up(end - longest, step_);
        if (start > spans.first[task]) found = deduce_first(window, start, spans);
      }
      if (end - spans.last[task] + duration_[task] > longest) {
        const Ps start = rounded_down(begin + longest - duration_[task]);
        if (start + duration_[task] < spans.last[task]) found = deduce_last(window, start, spans);
      }
    }
    return found;
  }

  [[nodiscard]] Ps rounded_down(Ps time) const {
    const Ps rest = time % step_;
    return time - (rest < 0 ? rest + step_ : rest);
  }
  Found deduce_first(Deduction by, Ps start, Spans& spans) {
    by.time = Duration{start};
    deductions_.push_back(by);
    spans.first[by.task.value()] = start;
    return Found::change;
  }
  Found deduce_last(Deduction by, Ps start, Spans& spans) {
    by.time = Duration{start};
    by.late = true;
    deductions_.push_back(by);
    spans.last[by.task.value()] = start + duration_[by.task.value()];
    return Found::change;
  }

  /// False: contradicted, and the last deduction says by what.
  bool propagate(Spans& spans) {
    for (bool changed = true; changed;) {
      changed = false;
      if (!follow_paths(spans)) {
        deductions_.push_back({});
        return false;
      }
      for (const HeldPool& pool : pools_) {
        const Found found = reason(pool, spans);
        if (found == Found::contradiction) return false;
        changed = changed || found == Found::change;
        if (found == Found::change && !follow_paths(spans)) {
          deductions_.push_back({});
          return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] bool may_go_on() const {
    return has_work() && deductions_.size() < most_deductions;
  }

  /// Assumes that the task starts before `time`, or after it. True: that was refuted.
  bool probe(const Spans& spans, std::uint32_t task, Ps time, bool late) {
    const std::size_t known = deductions_.size();
    deductions_.push_back({.task = TaskId{task}, .late = late, .time = Duration{time}});
    Spans assumed = spans;
    assume(assumed, task, time, late);
    if (!propagate(assumed)) return true;
    deductions_.resize(known);
    return false;
  }
  void assume(Spans& spans, std::uint32_t task, Ps time, bool late) const {
    if (late) {
      spans.first[task] = std::max(spans.first[task], time + step_);
    } else {
      spans.last[task] = std::min(spans.last[task], time - step_ + duration_[task]);
    }
  }
  void learn(Spans& spans, std::uint32_t task, Ps time, bool late) const {
    assume(spans, task, late ? time + step_ : time - step_, !late);
  }

  /// False: contradicted.
  bool shave(Spans& spans) {
    for (bool changed = true; changed && may_go_on();) {
      changed = false;
      for (std::uint32_t task = 0; task < duration_.size() && may_go_on(); ++task) {
        for (const bool late : {false, true}) {
          for (Ps part = coarsest; part <= finest; part *= 4) {
            const Ps slack = spans.last[task] - duration_[task] - spans.first[task];
            const Ps width = std::max(step_, rounded_down(slack / part));
            if (slack < width || !may_go_on()) break;
            const Ps time = late ? rounded_down(spans.last[task] - duration_[task] - width)
                                 : rounded_down(spans.first[task]) + width;
            if (probe(spans, task, time, late)) {
              learn(spans, task, time, late);
              if (!propagate(spans)) return false;
              changed = true;
              part /= 4;
            } else if (width == step_) {
              break;
            }
          }
        }
      }
    }
    return true;
  }

  /// True: no schedule has these spans, and the deductions show it.
  bool refutes(Spans spans, int depth) {
    if (!propagate(spans)) return true;
    if (depth == 0 && !shave(spans)) return true;
    if (nodes_left_-- <= 0 || !may_go_on()) return false;
    Ps least = std::numeric_limits<Ps>::max();
    std::uint32_t chosen = 0;
    for (std::uint32_t task = 0; task < duration_.size(); ++task) {
      const Ps slack = spans.last[task] - duration_[task] - spans.first[task];
      if (slack < step_ || slack >= least) continue;
      least = slack;
      chosen = task;
    }
    if (least == std::numeric_limits<Ps>::max()) return false;  // it has a schedule
    const Ps time = rounded_down(spans.first[chosen]) + std::max(step_, rounded_down(least / 2));
    deductions_.push_back({.task = TaskId{chosen}, .time = Duration{time}});
    Spans before = spans;
    assume(before, chosen, time, false);
    if (!refutes(std::move(before), depth + 1)) return false;
    learn(spans, chosen, time, false);
    return refutes(std::move(spans), depth + 1);
  }

  const RefutationProblem& problem_;
  const TaskGraph& graph_;
  Ps step_;
  Ps work_left_;
  const std::function<bool()>* enough_;
  int nodes_left_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<Ps> duration_;
  std::vector<std::vector<Edge>> before_;
  std::vector<std::vector<Edge>> after_;
  std::vector<HeldPool> pools_;
  std::vector<Deduction> deductions_;
  std::vector<Ps> begins_;
  std::vector<Ps> ends_;
  std::vector<Ps> energy_;
};

}  // namespace

std::optional<BoundWitness> refutation_bound(const RefutationProblem& problem,
                                             Duration known,
                                             Duration shortest,
                                             RefutationLimits limits) {
  if (!lasts_exactly(problem.on)) return std::nullopt;
  Refuter refuter{problem, limits};
  if (!refuter.affords_a_pass()) return std::nullopt;
  constexpr Ps parts = 1000;  // of the bound, by which deadlines rise; assumed
  const Ps step = refuter.step();
  const Ps finest = std::max(step, known.count() / (10 * parts) / step * step);
  Ps bound = rounded_up(known.count(), step);
  Ps jump = std::max(finest, bound / parts / step * step);
  std::optional<BoundWitness> found;
  bool doubles = true;
  while (refuter.has_work()) {
    Ps deadline = bound + jump - step;
    if (shortest > Duration{0}) deadline = std::min(deadline, shortest.count() - 1) / step * step;
    if (deadline < bound) break;
    std::vector<Deduction> deductions = refuter.refute(deadline);
    if (deductions.empty()) {
      doubles = false;
      if (jump <= finest) break;
      jump = std::max(finest, jump / 2 / step * step);
      continue;
    }
    bound = deadline + step;
    found = {.kind = BoundKind::energetic,
             .bound = Duration{bound},
             .deadline = Duration{deadline},
             .deductions = std::move(deductions)};
    if (doubles) jump *= 2;
  }
  return found;
}

}  // namespace schedlab::bounds
