// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/batch_boundaries.hpp"

#include "sim/base/error.hpp"
#include "studies/buckets/bucket_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::int64_t interpolation_points = 9;  // assumed: times are nearly linear in the length
/// Each round simulates lengths that were interpolated before; two or three are needed.
constexpr int max_rounds = 20;  // assumed

}  // namespace

InterpolatedSteps::InterpolatedSteps(std::int64_t longest, StepSimulation& steps) : steps_(&steps) {
  BucketBoundaries lengths;
  for (std::int64_t i = 0; i < interpolation_points; ++i) {
    lengths.push_back(1 + (longest - 1) * i / (interpolation_points - 1));
  }
  refine(lengths);
}

bool InterpolatedSteps::refine(const BucketBoundaries& lengths) {
  bool any = false;
  for (const std::int64_t length : lengths) {
    if (exact_.contains(length)) continue;
    exact_[length] = static_cast<double>((*steps_)(length).count());
    any = true;
  }
  double most = 0;
  for (const auto& [length, time] : exact_) rising_[length] = most = std::max(most, time);
  return any;
}

double InterpolatedSteps::operator()(std::int64_t length) const {
  const auto above = rising_.lower_bound(length);
  SCHEDLAB_EXPECTS(above != rising_.end(), fmt::format("length {}", length));
  if (above->first == length) return above->second;
  const auto below = std::prev(above);
  const double share =
      static_cast<double>(length - below->first) / static_cast<double>(above->first - below->first);
  return below->second + share * (above->second - below->second);
}

LengthDistribution batch_lengths(const BucketSpec& spec,
                                 std::size_t data,
                                 const TrainingSetup& setup) {
  const std::int64_t longest = spec.data[data].distribution.longest();
  BucketBoundaries every_length(static_cast<std::size_t>(longest));
  std::iota(every_length.begin(), every_length.end(), 1);
  std::vector<std::pair<std::int64_t, double>> weights;
  for (const SequenceBatch& batch : epoch_of(spec, data, setup, every_length).batches) {
    weights.emplace_back(batch.longest, 1.0);
  }
  // So small that no sum of times changes.
  weights.emplace_back(longest, 1e-9);
  return LengthDistribution::histogram(weights);
}

BucketBoundaries optimal_boundaries(const LengthDistribution& data,
                                    const LengthDistribution& batches,
                                    std::int64_t count,
                                    InterpolatedSteps steps) {
  const auto boundaries = [&](BoundaryRule rule, const LengthDistribution& of) {
    return bucket_boundaries(rule, of, count, [&](std::int64_t length) { return steps(length); });
  };
  for (const BoundaryRule rule :
       {BoundaryRule::fixed_step, BoundaryRule::by_distribution, BoundaryRule::increasing_step}) {
    steps.refine(boundaries(rule, data));
  }
  BucketBoundaries best = boundaries(BoundaryRule::optimal, batches);
  for (int round = 0; round < max_rounds && steps.refine(best); ++round) {
    best = boundaries(BoundaryRule::optimal, batches);
  }
  return best;
}

}  // namespace schedlab
