// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/partition_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace schedlab::detail {
namespace {

constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();

/// For every down-set and number of accelerators the best way to do what the set has not with
/// exactly so many.
class StageTable {
 public:
  StageTable(const DownSets& sets, const StageCosts& costs, const SearchGoal& goal)
      : sets_(sets),
        costs_(costs),
        goal_(goal),
        width_(goal.accelerators + std::size_t{1}),
        cells_(sets.size() * width_) {}

  std::optional<FoundStages> run() {
    by_compute_.resize(sets_.size());
    for (std::size_t i = 0; i < by_compute_.size(); ++i) by_compute_[i] = i;
    // A set has no more work than those it is part of, and is smaller, so it comes before them.
    std::stable_sort(by_compute_.begin(), by_compute_.end(), [&](std::size_t a, std::size_t b) {
      return costs_.compute(a) < costs_.compute(b);
    });
    cell(sets_.size() - 1, 0).value = 0;
    for (std::size_t place = by_compute_.size(); place-- > 0;) {
      for (std::size_t next = place + 1; next < by_compute_.size(); ++next) {
        if (!extend(by_compute_[place], by_compute_[next])) break;
      }
    }
    return chosen();
  }

 private:
  struct Cell {
    std::int64_t value = unreachable;
    std::uint32_t next = 0;      ///< down-set at the end of the stage
    std::uint32_t replicas = 0;  ///< of the stage
  };
  Cell& cell(std::size_t set, std::size_t accelerators) {
    return cells_[set * width_ + accelerators];
  }

  /// Tries the stage from `inner` to `outer`; false if all further ones have too much work.
  bool extend(std::size_t inner, std::size_t outer) {
    const Duration compute = costs_.compute(outer) - costs_.compute(inner);
    if (compute / std::int64_t{goal_.most_replicas} > goal_.most_load) return false;
    if (!sets_.subset(inner, outer)) return true;
    costs_.between(inner, outer, parts_);
    for (std::uint32_t replicas = 1; replicas <= goal_.most_replicas; ++replicas) {
      for (std::uint32_t later = 0; later + replicas <= goal_.accelerators; ++later) {
        const std::int64_t rest = cell(outer, later).value;
        if (rest == unreachable) continue;
        costs_.finish(parts_, replicas, later);
        const std::optional<std::int64_t> own = goal_.value(parts_.stage);
        if (!own) continue;
        const std::int64_t value = std::max(*own, rest);
        Cell& best = cell(inner, later + replicas);
        if (value < best.value) {
          best = {.value = value, .next = static_cast<std::uint32_t>(outer), .replicas = replicas};
        }
      }
    }
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
  std::size_t width_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> by_compute_;
  StageCosts::Parts parts_;
};

/// Stages filled up to `bound` from the last one to the first; nullopt if they do not suffice.
std::optional<FoundStages> filled_up_to(std::int64_t bound,
                                        const DownSets& sets,
                                        const StageCosts& costs,
                                        const SearchGoal& goal) {
  FoundStages found;
  StageCosts::Parts parts;
  std::size_t end = sets.size() - 1;
  std::uint32_t later = 0;
  while (end > 0) {
    if (later == goal.accelerators) return std::nullopt;
    // With all accelerators in use, each of the earlier stages needs a layer.
    const std::size_t least =
        goal.use_all ? std::min<std::size_t>(end - 1, goal.accelerators - later - 1) : 0;
    std::optional<std::size_t> start;
    std::int64_t own = 0;
    for (std::size_t candidate = end; candidate-- > least;) {
      costs.between(candidate, end, parts);
      costs.finish(parts, 1, later);
      const auto value = goal.value(parts.stage);
      if (value && *value <= bound) {
        start = candidate;
        own = *value;
        continue;
      }
      const bool only_grows =
          parts.stage.compute.count() > bound && goal.objective == PartitionObjective::load;
      // A transfer may fall further on, but not this far.
      if (only_grows || (end - candidate > 64 && start)) break;
    }
    if (!start) return std::nullopt;
    found.ends.push_back(end);
    found.value = std::max(found.value, own);
    end = *start;
    ++later;
  }
  if (goal.use_all && later < goal.accelerators) return std::nullopt;
  std::reverse(found.ends.begin(), found.ends.end());
  found.replicas.assign(found.ends.size(), 1);
  return found;
}

}  // namespace

std::optional<FoundStages> best_stages(const DownSets& sets,
                                       const StageCosts& costs,
                                       const SearchGoal& goal) {
  return StageTable(sets, costs, goal).run();
}

std::optional<FoundStages> filled_stages(const DownSets& sets,
                                         const StageCosts& costs,
                                         const SearchGoal& goal) {
  std::optional<FoundStages> best =
      filled_up_to(std::numeric_limits<std::int64_t>::max(), sets, costs, goal);
  if (!best) return std::nullopt;
  std::int64_t high = best->value;
  std::int64_t low = -1;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    std::optional<FoundStages> found = filled_up_to(middle, sets, costs, goal);
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
