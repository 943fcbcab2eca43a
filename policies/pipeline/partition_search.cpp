// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/partition_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();

/// Numbers of accelerators that may come behind a down-set: enough for the work there, and enough
/// left for its own, each with at most the goal's load.
struct LaterRange {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  bool possible = false;
};

LaterRange later_range(Duration own, Duration all, const SearchGoal& goal) {
  const std::int64_t most = std::max<std::int64_t>(goal.max_load.count(), 1);
  const auto needed = [most](Duration work) {
    return work.count() / most + (work.count() % most != 0 ? 1 : 0);
  };
  const std::int64_t low = needed(all - own);
  const std::int64_t high = goal.accelerators - needed(own);
  if (low > high) return {};
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), true};
}

/// Is the work between two sets too much for one stage?
bool too_much(Duration compute, const SearchGoal& goal) {
  return compute / std::int64_t{goal.max_replicas} > goal.max_load;
}

/// For every down-set and number of accelerators the best way to do what the set has not with
/// exactly so many.
class StageTable {
 public:
  StageTable(const DownSets& sets,
             const StageCosts& costs,
             const SearchGoal& goal,
             SearchWork& work)
      : sets_(sets),
        costs_(costs),
        goal_(goal),
        work_(work),
        width_(goal.accelerators + std::size_t{1}),
        cells_(sets.size() * width_) {}

  std::optional<FoundStages> run() {
    std::vector<std::size_t> by_compute(sets_.size());
    std::iota(by_compute.begin(), by_compute.end(), std::size_t{0});
    // A set has no more work than those it is part of, and is smaller, so it comes before them.
    std::stable_sort(by_compute.begin(), by_compute.end(), [&](std::size_t a, std::size_t b) {
      return costs_.compute(a) < costs_.compute(b);
    });
    const std::size_t whole = sets_.size() - 1;
    const Duration all = costs_.compute(whole);
    cell(whole, 0).value = 0;
    for (std::size_t place = by_compute.size(); place-- > 0;) {
      const std::size_t inner = by_compute[place];
      if (work_.progress && place % progress_steps == 0) {
        work_.progress(1.0 - static_cast<double>(place) / static_cast<double>(by_compute.size()));
      }
      const LaterRange range = later_range(costs_.compute(inner), all, goal_);
      if (!range.possible) continue;
      for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) {
        if (!extend(inner, range, *end)) break;
      }
      if (reachable(inner)) ends_.push_back(inner);
    }
    return chosen();
  }

 private:
  static constexpr std::size_t progress_steps = 256;

  struct Cell {
    std::int64_t value = unreachable;
    std::uint32_t next = 0;      ///< down-set at the end of the stage
    std::uint32_t replicas = 0;  ///< of the stage
  };
  Cell& cell(std::size_t set, std::size_t accelerators) {
    return cells_[set * width_ + accelerators];
  }
  [[nodiscard]] bool reachable(std::size_t set) {
    const Cell* first = &cell(set, 0);
    return std::any_of(first, first + width_, [](const Cell& c) { return c.value != unreachable; });
  }

  /// Calls visit(replicas, later) for the ways to do the stage that may be better than the known
  /// ones, as long as it says true.
  template <class Visitor>
  void for_each_way(std::size_t inner, const LaterRange& range, std::size_t outer, Visitor visit) {
    const std::int64_t compute = (costs_.compute(outer) - costs_.compute(inner)).count();
    for (std::uint32_t replicas = goal_.min_replicas; replicas <= goal_.max_replicas; ++replicas) {
      const std::int64_t least =
          goal_.objective == PartitionObjective::load ? compute / replicas : 0;
      const std::uint32_t first = range.low > replicas ? range.low - replicas : 0;
      for (std::uint32_t later = first; later + replicas <= range.high; ++later) {
        const std::int64_t rest = cell(outer, later).value;
        if (rest == unreachable) continue;
        if (std::max(least, rest) >= cell(inner, later + replicas).value) continue;
        if (!visit(replicas, later)) return;
      }
    }
  }

  /// Tries the stage from `inner` to `outer`; false if all further ones have too much work.
  bool extend(std::size_t inner, const LaterRange& range, std::size_t outer) {
    if (too_much(costs_.compute(outer) - costs_.compute(inner), goal_)) return false;
    bool any = false;
    for_each_way(inner, range, outer, [&any](std::uint32_t, std::uint32_t) {
      any = true;
      return false;
    });
    if (!any || !sets_.subset(inner, outer)) return true;
    ++work_.stages_tried;
    costs_.between(inner, outer, parts_);
    for_each_way(inner, range, outer, [&](std::uint32_t replicas, std::uint32_t later) {
      costs_.finish(parts_, replicas, later);
      const std::optional<std::int64_t> own = goal_.value(parts_.stage);
      if (!own) return true;
      const std::int64_t value = std::max(*own, cell(outer, later).value);
      Cell& best = cell(inner, later + replicas);
      if (value < best.value) {
        best = {.value = value, .next = static_cast<std::uint32_t>(outer), .replicas = replicas};
      }
      return true;
    });
    return true;
  }

  std::optional<FoundStages> chosen() {
    std::size_t used = goal_.accelerators;
    if (!goal_.use_all) {
      for (std::size_t count = width_; count-- > 1;) {
        if (cell(0, count).value <= cell(0, used).value)
          used = count;  // the fewest that do as well
      }
    }
    if (cell(0, used).value == unreachable) return std::nullopt;
    FoundStages found;
    found.value = cell(0, used).value;
    for (std::size_t set = 0; set != sets_.size() - 1;) {
      const Cell& stage = cell(set, used);
      found.ends.push_back(stage.next);
      found.replicas.push_back(stage.replicas);
      set = stage.next;
      used -= stage.replicas;
    }
    return found;
  }

  const DownSets& sets_;
  const StageCosts& costs_;
  const SearchGoal& goal_;
  SearchWork& work_;
  std::size_t width_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> ends_;  // sets from which the rest can be done, by falling work
  StageCosts::Parts parts_;
};

/// Stages filled up to `bound` from the last one to the first; nullopt if they do not suffice.
std::optional<FoundStages> filled_up_to(std::int64_t bound,
                                        const DownSets& sets,
                                        const StageCosts& costs,
                                        const SearchGoal& goal,
                                        SearchWork& work) {
  FoundStages found;
  StageCosts::Parts parts;
  const std::uint32_t each = goal.min_replicas;
  std::size_t end = sets.size() - 1;
  std::uint32_t later = 0;
  while (end > 0) {
    if (later + each > goal.accelerators) return std::nullopt;
    // With all accelerators in use, each of the earlier stages needs a layer.
    const std::size_t least =
        goal.use_all ? std::min<std::size_t>(end - 1, (goal.accelerators - later) / each - 1) : 0;
    std::optional<std::size_t> start;
    std::int64_t own = 0;
    for (std::size_t candidate = end; candidate-- > least;) {
      ++work.stages_tried;
      costs.between(candidate, end, parts);
      costs.finish(parts, each, later);
      const auto value = goal.value(parts.stage);
      if (value && *value <= bound) {
        start = candidate;
        own = *value;
        continue;
      }
      const bool only_grows =
          parts.stage.compute.count() / each > bound && goal.objective == PartitionObjective::load;
      // A transfer may fall further on, but not this far.
      if (only_grows || (end - candidate > 64 && start)) break;
    }
    if (!start) return std::nullopt;
    found.ends.push_back(end);
    found.value = std::max(found.value, own);
    end = *start;
    later += each;
  }
  if (goal.use_all && later < goal.accelerators) return std::nullopt;
  std::reverse(found.ends.begin(), found.ends.end());
  found.replicas.assign(found.ends.size(), each);
  return found;
}

}  // namespace

std::optional<FoundStages> best_stages(const DownSets& sets,
                                       const StageCosts& costs,
                                       const SearchGoal& goal,
                                       SearchWork& work) {
  return StageTable(sets, costs, goal, work).run();
}

std::uint64_t pairs_of_prefixes(const StageCosts& costs,
                                std::size_t sets,
                                const SearchGoal& goal,
                                std::uint64_t most) {
  const Duration all = costs.compute(sets - 1);
  std::vector<std::uint64_t> before(sets + 1, 0);  // sets of lower number that are possible
  for (std::size_t set = 0; set < sets; ++set) {
    const bool possible = later_range(costs.compute(set), all, goal).possible;
    before[set + 1] = before[set] + (possible ? 1 : 0);
  }
  std::uint64_t pairs = 0;
  std::size_t end = 0;
  for (std::size_t set = 0; set < sets && pairs < most; ++set) {
    end = std::max(end, set);
    while (end + 1 < sets && !too_much(costs.compute(end + 1) - costs.compute(set), goal)) ++end;
    if (before[set + 1] > before[set]) pairs += before[end + 1] - before[set + 1];
  }
  return std::min(pairs, most);
}

std::optional<FoundStages> filled_stages(const DownSets& sets,
                                         const StageCosts& costs,
                                         const SearchGoal& goal,
                                         SearchWork& work) {
  std::optional<FoundStages> best =
      filled_up_to(std::numeric_limits<std::int64_t>::max(), sets, costs, goal, work);
  if (!best) return std::nullopt;
  std::int64_t high = best->value;
  std::int64_t low = -1;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    std::optional<FoundStages> found = filled_up_to(middle, sets, costs, goal, work);
    if (found) {
      high = found->value;
      best = std::move(found);
    } else {
      low = middle;
    }
  }
  return best;
}

}  // namespace schedlab::detail
