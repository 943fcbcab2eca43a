// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/checkpoints.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace schedlab {
namespace {

constexpr std::size_t longest_general_chain = 256;

/// Least cost of every interval [first, last) for each number of free slots, shortest first.
class IntervalCosts {
 public:
  IntervalCosts(const std::vector<double>& costs, std::size_t slots)
      : size_(costs.size()),
        running_(costs.size() + 1, 0.0),
        best_(slots + 1, std::vector<double>(size_ * size_, 0.0)),
        split_(slots + 1, std::vector<std::uint32_t>(size_ * size_, 0U)) {
    for (std::size_t i = 0; i < size_; ++i) running_[i + 1] = running_[i] + costs[i];
    for (std::size_t free = 0; free <= slots; ++free) {
      for (std::size_t length = 1; length <= size_; ++length) {
        for (std::size_t first = 0; first + length <= size_; ++first) fill(free, first, length);
      }
    }
  }

  [[nodiscard]] double best(std::size_t free) const { return best_[free][index(0, size_)]; }

  /// Steps whose states are kept on the way to the last step.
  [[nodiscard]] std::vector<std::int64_t> kept(std::size_t free) const {
    std::vector<std::int64_t> steps;
    for (std::size_t first = 0; free > 0; --free) {
      const std::uint32_t split = split_[free][index(first, size_)];
      if (split == 0) break;
      steps.push_back(split);
      first = split;
    }
    return steps;
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t first, std::size_t last) const {
    return first * size_ + last - 1;
  }

  void fill(std::size_t free, std::size_t first, std::size_t length) {
    const std::size_t last = first + length;
    // Without a further state every step is reached from `first`.
    double least = 0;
    for (std::size_t end = first + 1; end <= last; ++end) least += running_[end] - running_[first];
    std::uint32_t at = 0;
    for (std::size_t split = first + 1; free > 0 && split < last; ++split) {
      const double cost = running_[split] - running_[first] + best_[free - 1][index(split, last)] +
                          best_[free][index(first, split)];
      if (cost >= least) continue;
      least = cost;
      at = static_cast<std::uint32_t>(split);
    }
    best_[free][index(first, last)] = least;
    split_[free][index(first, last)] = at;
  }

  std::size_t size_;
  std::vector<double> running_;
  std::vector<std::vector<double>> best_;
  std::vector<std::vector<std::uint32_t>> split_;  // 0: none
};

}  // namespace

SegmentedChain min_memory_segments(std::int64_t steps, Bytes state, Bytes values) {
  SCHEDLAB_EXPECTS(steps >= 1, fmt::format("a chain of {} steps", steps));
  SegmentedChain best;
  for (std::int64_t segment = 1; segment <= steps; ++segment) {
    const Bytes bytes = state * ceil_div(steps, segment) + values * segment;
    if (segment == 1 || bytes < best.bytes) best = {segment, bytes};
  }
  return best;
}

CheckpointPlan cheapest_checkpoints(const std::vector<double>& forward_costs, std::int64_t slots) {
  const std::size_t steps = forward_costs.size();
  SCHEDLAB_EXPECTS(steps >= 1 && steps <= longest_general_chain && slots >= 0,
                   fmt::format("a chain of {} steps with {} slots", steps, slots));
  for (const double cost : forward_costs) {
    SCHEDLAB_EXPECTS(cost >= 0, fmt::format("forward cost {}", cost));
  }
  const std::size_t useful = std::min(static_cast<std::size_t>(slots), steps - 1);
  const IntervalCosts costs{forward_costs, useful};
  return {.forward_cost = costs.best(useful), .kept_first = costs.kept(useful)};
}

std::int64_t min_forward_steps(std::int64_t steps, std::int64_t slots) {
  SCHEDLAB_EXPECTS(steps >= 1 && slots >= 0, fmt::format("{} steps, {} slots", steps, slots));
  constexpr double most = 9.2e18;
  // C(slots + 1 + r, r) grows to at least `steps`; before is C(slots + 1 + r, r - 1).
  const auto kept = static_cast<double>(slots) + 1;
  double reach = 1;
  double before = 0;
  double repetitions = 0;
  while (reach < static_cast<double>(steps)) {
    ++repetitions;
    reach = std::round(reach * (kept + repetitions) / repetitions);
    before = std::round(reach * repetitions / (kept + 1));
  }
  const double count =
      repetitions * static_cast<double>(steps) - before + static_cast<double>(steps);
  return count < most ? static_cast<std::int64_t>(count) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace schedlab
