// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/lengths.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

// Shares such as m / N meet sums of probabilities only up to rounding.
constexpr double share_tolerance = 1e-12;

[[noreturn]] void refuse_parameter(const std::string& pointer,
                                   const std::string& found,
                                   const std::string& expected) {
  throw InputError(
      {.file = {}, .pointer = pointer, .found = found, .expected = expected, .hint = {}});
}

void expect_length(const char* pointer, std::int64_t length) {
  if (length >= 1 && length <= longest_accepted_length) return;
  refuse_parameter(pointer,
                   fmt::format("{}", length),
                   fmt::format("a length from 1 to {}", longest_accepted_length));
}

void expect_positive(const char* pointer, double value) {
  if (value > 0 && std::isfinite(value)) return;
  refuse_parameter(pointer, fmt::format("{}", value), "a number above 0");
}

/// Running sums of weights by length, the longest with a weight last.
std::vector<double> running_shares(std::vector<double> weights) {
  while (!weights.empty() && weights.back() <= 0) weights.pop_back();
  double sum = 0;
  for (double& weight : weights) weight = sum += weight;
  for (double& share : weights) share /= sum;
  return weights;
}

}  // namespace

LengthDistribution::LengthDistribution(std::vector<double> cumulative)
    : cumulative_(std::move(cumulative)) {
  SCHEDLAB_EXPECTS(!cumulative_.empty() && std::isfinite(cumulative_.back()),
                   std::string{"a distribution of lengths"});
  cumulative_.back() = 1;
}

LengthDistribution LengthDistribution::uniform(std::int64_t shortest, std::int64_t longest) {
  expect_length("/longest", longest);
  expect_length("/shortest", shortest);
  if (shortest > longest) {
    refuse_parameter("/shortest",
                     fmt::format("{}", shortest),
                     fmt::format("at most the longest length, {}", longest));
  }
  std::vector<double> weights(static_cast<std::size_t>(longest), 1.0);
  std::fill_n(weights.begin(), shortest - 1, 0.0);
  return LengthDistribution{running_shares(std::move(weights))};
}

LengthDistribution LengthDistribution::power_law(std::int64_t longest, double exponent) {
  expect_length("/longest", longest);
  expect_positive("/exponent", exponent);
  std::vector<double> cumulative(static_cast<std::size_t>(longest));
  for (std::size_t i = 0; i < cumulative.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(longest);
    cumulative[i] = std::pow(share, exponent);
  }
  return LengthDistribution{std::move(cumulative)};
}

LengthDistribution LengthDistribution::log_normal(std::int64_t longest,
                                                  double median,
                                                  double sigma) {
  expect_length("/longest", longest);
  expect_positive("/median", median);
  expect_positive("/sigma", sigma);
  const auto below = [&](double length) {
    return 0.5 * std::erfc((std::log(median) - std::log(length)) / (sigma * std::sqrt(2.0)));
  };
  const double all = below(static_cast<double>(longest));
  if (all < 1e-6) {
    refuse_parameter("/median",
                     fmt::format("{}, with sigma {}", median, sigma),
                     fmt::format("a distribution with lengths up to {}", longest));
  }
  std::vector<double> cumulative(static_cast<std::size_t>(longest));
  for (std::size_t i = 0; i < cumulative.size(); ++i) {
    cumulative[i] = below(static_cast<double>(i + 1)) / all;
  }
  return LengthDistribution{std::move(cumulative)};
}

LengthDistribution LengthDistribution::histogram(
    const std::vector<std::pair<std::int64_t, double>>& weights) {
  std::vector<double> by_length;
  double sum = 0;
  for (const auto& [length, weight] : weights) {
    expect_length("/lengths", length);
    if (!(weight >= 0) || !std::isfinite(weight)) {
      refuse_parameter("/weights", fmt::format("{}", weight), "a number of 0 or more");
    }
    const auto index = static_cast<std::size_t>(length - 1);
    if (index >= by_length.size()) by_length.resize(index + 1, 0.0);
    by_length[index] += weight;
    sum += weight;
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    refuse_parameter("/weights", "no weight above 0", "at least one, and a finite sum");
  }
  return LengthDistribution{running_shares(std::move(by_length))};
}

LengthDistribution LengthDistribution::of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::pair<std::int64_t, double>> weights;
  weights.reserve(lengths.size());
  for (const std::int64_t length : lengths) weights.emplace_back(length, 1.0);
  return histogram(weights);
}

double LengthDistribution::cumulative(std::int64_t length) const {
  if (length < 1) return 0;
  return length >= longest() ? 1 : cumulative_[static_cast<std::size_t>(length - 1)];
}

double LengthDistribution::mean() const {
  // The sum over x >= 0 of P(length > x).
  double sum = 1;
  for (const double share : cumulative_) sum += 1 - share;
  return sum;
}

std::int64_t LengthDistribution::quantile(double share) const {
  SCHEDLAB_EXPECTS(share >= 0 && share <= 1, fmt::format("share {}", share));
  // Also for share 0 a length that occurs.
  const double wanted = std::max(share - share_tolerance, 1e-300);
  const auto found = std::lower_bound(cumulative_.begin(), cumulative_.end(), wanted);
  return std::min<std::int64_t>(found - cumulative_.begin() + 1, longest());
}

std::vector<std::int64_t> LengthDistribution::draw(std::int64_t count, std::uint64_t seed) const {
  Rng rng{seed};
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end(), rng.uniform());
    lengths.push_back(above - cumulative_.begin() + 1);
  }
  return lengths;
}

}  // namespace schedlab
