// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace schedlab {
namespace {

constexpr double normal_95 = 1.959963984540054;  // |Z| is below it with probability 0.95

/// Probability that |T| < t: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
/// 26.7.4.
double student_t_within(double t, std::uint64_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine2 = std::cos(angle) * std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? std::cos(angle) : 1.0;
  double sum = degrees == 1 ? 0.0 : term;
  for (std::uint64_t k = odd ? 3 : 2; k + 2 <= degrees; k += 2) {
    term *= cosine2 * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  return odd ? 2.0 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

}  // namespace

double student_t_95(std::uint64_t degrees_of_freedom) {
  SCHEDLAB_EXPECTS(degrees_of_freedom >= 1, "degrees of freedom");
  if (degrees_of_freedom > 1000) {  // the expansion 26.7.5 of the same handbook; next term 1e-9
    const auto n = static_cast<double>(degrees_of_freedom);
    const double z = normal_95;
    return z + (std::pow(z, 3) + z) / (4 * n) +
           (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * n * n);
  }
  double low = 1.0;
  double high = 13.0;  // 12.706 with one degree of freedom
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (student_t_within(middle, degrees_of_freedom) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

double percentile(const std::vector<double>& values, double share) {
  SCHEDLAB_EXPECTS(!values.empty() && share >= 0 && share <= 1, "percentile of no values");
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  const double part = place - static_cast<double>(below);
  return values[below] + part * (values[below + 1] - values[below]);
}

SampleSummary summarize_samples(std::vector<double> samples) {
  SampleSummary summary;
  if (samples.empty()) return summary;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  summary.count = samples.size();
  summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  // A sum of equal numbers can miss them by a rounding.
  summary.mean = std::clamp(summary.mean, samples.front(), samples.back());
  double squares = 0;
  for (const double value : samples) squares += (value - summary.mean) * (value - summary.mean);
  const double half = samples.size() < 2 ? 0.0
                                         : student_t_95(samples.size() - 1) *
                                               std::sqrt(squares / (count - 1) / count);
  summary.mean_low = summary.mean - half;
  summary.mean_high = summary.mean + half;
  summary.median = percentile(samples, 0.5);
  summary.p5 = percentile(samples, 0.05);
  summary.p95 = percentile(samples, 0.95);
  return summary;
}

Proportion proportion(double successes, std::size_t trials) {
  SCHEDLAB_EXPECTS(successes >= 0 && successes <= static_cast<double>(trials), "successes");
  if (trials == 0) return {};
  const auto n = static_cast<double>(trials);
  const double p = successes / n;
  const double z2 = normal_95 * normal_95;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = normal_95 * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {p, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace schedlab
