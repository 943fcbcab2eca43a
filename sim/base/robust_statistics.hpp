// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/rng.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

// Statistics of measurements on a machine that others use too: a few values are far too large, and
// nothing is normally distributed. All values must be finite.

/// The middle one, or the mean of the two in the middle. `values` is not empty.
[[nodiscard]] double median(std::vector<double> values);

/// Median of the absolute deviations from the median; times 1.4826 it estimates the standard
/// deviation of normally distributed values. `values` is not empty.
[[nodiscard]] double median_absolute_deviation(const std::vector<double>& values);

/// The values, in their order, whose distance from the median is at most `deviations` times 1.4826
/// times the median absolute deviation. Where more than half of the values are equal, only those
/// equal to them would be left: then all are kept.
/// Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993 (they take 3.5).
[[nodiscard]] std::vector<double> without_outliers(const std::vector<double>& values,
                                                   double deviations = 3.5);

struct Quartiles {
  double low = 0;     ///< a quarter of the values is below
  double middle = 0;  ///< the median
  double high = 0;

  /// Interquartile range over the median; 0 if the median is 0.
  [[nodiscard]] double relative_spread() const {
    return middle == 0.0 ? 0.0 : (high - low) / middle;
  }
  friend bool operator==(const Quartiles&, const Quartiles&) = default;
};
/// Interpolated as percentile() does. `values` is not empty.
[[nodiscard]] Quartiles quartiles(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
  [[nodiscard]] bool overlaps(const Interval& other) const {
    return low <= other.high && other.low <= high;
  }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// 95 % percentile bootstrap interval of the median: the 2.5 % and 97.5 % points of the medians of
/// `resamples` draws with replacement. One value: that value. `values` is not empty.
///
/// Cost    O(resamples * values).
/// Source  Efron, Annals of Statistics 7(1), 1979, doi 10.1214/aos/1176344552.
[[nodiscard]] Interval bootstrap_median_95(const std::vector<double>& values,
                                           Rng& rng,
                                           std::size_t resamples = 2000);

/// What is kept of repeated measurements of one thing.
struct RobustSummary {
  std::size_t count = 0;     ///< without outliers
  std::size_t rejected = 0;  ///< outliers
  double median = 0;
  double spread = 0;  ///< interquartile range over the median

  friend bool operator==(const RobustSummary&, const RobustSummary&) = default;
};
/// Summary of the values without outliers. All zero without values.
[[nodiscard]] RobustSummary robust_summary(const std::vector<double>& values);

}  // namespace schedlab
