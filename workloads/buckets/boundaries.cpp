// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/boundaries.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace schedlab {
namespace {

/// The dynamic programme: best cost of the first i + 1 lengths in k buckets, of which the last ends
/// at length i.
class OptimalSplit {
 public:
  OptimalSplit(const LengthDistribution& lengths, const LengthCost& cost) {
    for (std::int64_t length = 1; length <= lengths.longest(); ++length) {
      if (length < lengths.longest() && lengths.probability(length) <= 0) continue;
      ends_.push_back(length);
      shares_.push_back(lengths.cumulative(length));
      costs_.push_back(cost(length));
      const std::size_t last = costs_.size() - 1;
      SCHEDLAB_EXPECTS(last == 0 || costs_[last] >= costs_[last - 1],
                       fmt::format("cost of length {}", length));
    }
  }

  [[nodiscard]] BucketBoundaries split(std::int64_t count) {
    const std::size_t size = ends_.size();
    if (count >= static_cast<std::int64_t>(size)) return ends_;
    best_.resize(size);
    for (std::size_t i = 0; i < size; ++i) best_[i] = costs_[i] * shares_[i];
    for (std::int64_t k = 2; k <= count; ++k) {
      next_.assign(size, std::numeric_limits<double>::infinity());
      from_.emplace_back(size, 0U);
      // The last of k buckets has k - 1 ends below its own.
      solve(static_cast<std::size_t>(k - 1), size - 1, static_cast<std::size_t>(k - 2), size - 2);
      best_.swap(next_);
    }
    BucketBoundaries found;
    std::size_t end = size - 1;
    for (std::size_t k = from_.size(); k > 0; --k) {
      found.push_back(ends_[end]);
      end = from_[k - 1][end];
    }
    found.push_back(ends_[end]);
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  // Ends first..last, whose best splits lie in low..high.
  void solve(std::size_t first, std::size_t last, std::size_t low, std::size_t high) {
    const std::size_t middle = first + (last - first) / 2;
    std::size_t best = low;
    for (std::size_t split = low; split <= std::min(high, middle - 1); ++split) {
      const double cost = best_[split] + costs_[middle] * (shares_[middle] - shares_[split]);
      if (cost >= next_[middle]) continue;
      next_[middle] = cost;
      best = split;
    }
    from_.back()[middle] = static_cast<std::uint32_t>(best);
    if (middle > first) solve(first, middle - 1, low, best);
    if (middle < last) solve(middle + 1, last, best, high);
  }

  BucketBoundaries ends_;
  std::vector<double> shares_;
  std::vector<double> costs_;
  std::vector<double> best_;
  std::vector<double> next_;
  std::vector<std::vector<std::uint32_t>> from_;  // per number of buckets from 2: the split
};

}  // namespace

namespace {

/// Where bucket m of N ends by a rule that looks at no cost.
std::int64_t rule_boundary(BoundaryRule rule,
                           const LengthDistribution& lengths,
                           std::int64_t m,
                           std::int64_t count) {
  const std::int64_t longest = lengths.longest();
  const double share = static_cast<double>(m) / static_cast<double>(count);
  switch (rule) {
    case BoundaryRule::by_distribution:
      return lengths.quantile(share);
    case BoundaryRule::increasing_step:
      return ceil_div(longest * m * (m + 1), count * (count + 1));  // below 10^18 + 10^12
    case BoundaryRule::increasing_square:
      return ceil_div(longest * m * m, count * count);
    case BoundaryRule::increasing_mean:
      return ceil_div(ceil_div(m * longest, count) + lengths.quantile(share), 2);
    case BoundaryRule::increasing_doubling: {
      const auto steps = static_cast<double>(count);
      return static_cast<std::int64_t>(
          std::ceil(static_cast<double>(longest) * std::exp2(static_cast<double>(m) - steps) *
                    (1 - std::exp2(static_cast<double>(-m))) / (1 - std::exp2(-steps))));
    }
    default:
      return ceil_div(m * longest, count);
  }
}

}  // namespace

BucketBoundaries bucket_boundaries(BoundaryRule rule,
                                   const LengthDistribution& lengths,
                                   std::int64_t count,
                                   const LengthCost& cost) {
  SCHEDLAB_EXPECTS(count >= 1, fmt::format("{} buckets", count));
  const std::int64_t longest = lengths.longest();
  count = std::min(count, longest);
  if (rule == BoundaryRule::optimal) return OptimalSplit{lengths, cost}.split(count);
  BucketBoundaries boundaries;
  for (std::int64_t m = 1; m <= count; ++m) {
    const std::int64_t end = m < count ? rule_boundary(rule, lengths, m, count) : longest;
    if (boundaries.empty() || end > boundaries.back()) boundaries.push_back(end);
  }
  return boundaries;
}

std::size_t bucket_of(const BucketBoundaries& boundaries, std::int64_t length) {
  const auto found = std::lower_bound(boundaries.begin(), boundaries.end(), length);
  SCHEDLAB_EXPECTS(found != boundaries.end(), fmt::format("a sequence of length {}", length));
  return static_cast<std::size_t>(found - boundaries.begin());
}

double expected_cost(const LengthDistribution& lengths,
                     const BucketBoundaries& boundaries,
                     const LengthCost& cost) {
  double sum = 0;
  std::int64_t below = 0;
  for (const std::int64_t end : boundaries) {
    sum += cost(end) * (lengths.cumulative(end) - lengths.cumulative(below));
    below = end;
  }
  return sum;
}

}  // namespace schedlab
