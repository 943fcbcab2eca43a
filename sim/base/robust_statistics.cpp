// SPDX-License-Identifier: Apache-2.0
#include "sim/base/robust_statistics.hpp"

#include "sim/base/error.hpp"
#include "sim/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr double normal_deviations_per_mad = 1.4826;  // 1 / the 75 % point of the normal

/// Reorders `values`; linear, which the bootstrap needs.
double median_of(std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), at, values.end());
  if (values.size() % 2 == 1) return *at;
  const double below = *std::max_element(values.begin(), at);
  return below + (*at - below) / 2;
}

}  // namespace

double median(std::vector<double> values) {
  SCHEDLAB_EXPECTS(!values.empty(), "median of no values");
  return median_of(values);
}

double median_absolute_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return median_of(distances);
}

std::vector<double> without_outliers(const std::vector<double>& values, double deviations) {
  if (values.empty()) return {};
  const double middle = median(values);
  const double most = deviations * normal_deviations_per_mad * median_absolute_deviation(values);
  if (most == 0.0) return values;
  std::vector<double> kept;
  for (const double value : values) {
    if (std::abs(value - middle) <= most) kept.push_back(value);
  }
  return kept;
}

Quartiles quartiles(std::vector<double> values) {
  SCHEDLAB_EXPECTS(!values.empty(), "quartiles of no values");
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.25), percentile(values, 0.5), percentile(values, 0.75)};
}

Interval bootstrap_median_95(const std::vector<double>& values, Rng& rng, std::size_t resamples) {
  SCHEDLAB_EXPECTS(!values.empty() && resamples >= 1, "bootstrap of no values");
  std::vector<double> medians;
  medians.reserve(resamples);
  std::vector<double> drawn(values.size());
  for (std::size_t i = 0; i < resamples; ++i) {
    for (double& value : drawn) value = values[rng.below(values.size())];
    medians.push_back(median_of(drawn));
  }
  std::sort(medians.begin(), medians.end());
  return {percentile(medians, 0.025), percentile(medians, 0.975)};
}

RobustSummary robust_summary(const std::vector<double>& values) {
  if (values.empty()) return {};
  std::vector<double> kept = without_outliers(values);
  const std::size_t count = kept.size();
  const Quartiles quarters = quartiles(std::move(kept));
  return {.count = count,
          .rejected = values.size() - count,
          .median = quarters.middle,
          .spread = quarters.relative_spread()};
}

}  // namespace schedlab
