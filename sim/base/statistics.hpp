// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// What is said of a number that was drawn several times.
struct SampleSummary {
  std::size_t count = 0;
  double mean = 0;
  double mean_low = 0;   ///< 95 % confidence interval of the mean: Student's t, equal to the mean
  double mean_high = 0;  ///< with fewer than two samples
  double median = 0;
  double p5 = 0;  ///< 5 % of the samples are below
  double p95 = 0;

  friend bool operator==(const SampleSummary&, const SampleSummary&) = default;
};

/// Percentiles are interpolated between order statistics (type 7 of Hyndman and Fan, The American
/// Statistician 50, 1996, doi 10.2307/2684934). All zero without samples.
[[nodiscard]] SampleSummary summarize_samples(std::vector<double> samples);

/// `values` sorted and not empty, `share` in [0, 1].
[[nodiscard]] double percentile(const std::vector<double>& values, double share);

/// The two-sided 95 % point of Student's t: |T| is below it with probability 0.95.
/// `degrees_of_freedom` at least 1. Exact to 9 digits.
[[nodiscard]] double student_t_95(std::uint64_t degrees_of_freedom);

/// A probability estimated from trials, with Wilson's 95 % interval (Journal of the American
/// Statistical Association 22, 1927, doi 10.1080/01621459.1927.10502953).
struct Proportion {
  double value = 0;
  double low = 0;
  double high = 1;

  friend bool operator==(const Proportion&, const Proportion&) = default;
};

/// `successes` may have halves (ties) and is at most `trials`. Without trials: 0, anything
/// possible.
[[nodiscard]] Proportion proportion(double successes, std::size_t trials);

}  // namespace schedlab
