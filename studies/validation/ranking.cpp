// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/ranking.hpp"

#include "sim/base/error.hpp"
#include "sim/base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace schedlab {

ErrorSummary summarize_errors(const std::vector<double>& errors) {
  ErrorSummary summary;
  summary.count = errors.size();
  if (errors.empty()) return summary;
  std::vector<double> sorted = errors;
  std::sort(sorted.begin(), sorted.end());
  summary.bias = percentile(sorted, 0.5);
  for (double& error : sorted) error = std::abs(error);
  std::sort(sorted.begin(), sorted.end());
  summary.median = percentile(sorted, 0.5);
  summary.p90 = percentile(sorted, 0.9);
  summary.max = sorted.back();
  return summary;
}

std::optional<double> kendall_tau(const std::vector<double>& a, const std::vector<double>& b) {
  SCHEDLAB_EXPECTS(a.size() == b.size(), "orders of one length");
  double agreement = 0;
  double untied_a = 0;
  double untied_b = 0;
  const auto sign = [](double value) { return value > 0 ? 1.0 : value < 0 ? -1.0 : 0.0; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = i + 1; k < a.size(); ++k) {
      const double in_a = sign(a[i] - a[k]);
      const double in_b = sign(b[i] - b[k]);
      agreement += in_a * in_b;
      untied_a += std::abs(in_a);
      untied_b += std::abs(in_b);
    }
  }
  if (untied_a == 0 || untied_b == 0) return std::nullopt;
  return agreement / std::sqrt(untied_a * untied_b);
}

double regret_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  SCHEDLAB_EXPECTS(!predicted.empty() && predicted.size() == measured.size(), "one length");
  const auto chosen = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  const double best = *std::min_element(measured.begin(), measured.end());
  return measured[static_cast<std::size_t>(chosen)] / best - 1;
}

ProbabilityScore score_probabilities(const std::vector<std::pair<double, bool>>& predictions) {
  constexpr std::size_t bin_count = 5;
  ProbabilityScore score;
  score.count = predictions.size();
  for (std::size_t i = 0; i < bin_count; ++i) {
    score.bins.push_back({.low = 0.5 + 0.1 * static_cast<double>(i),
                          .high = 0.5 + 0.1 * static_cast<double>(i + 1)});
  }
  for (const auto& [probability, came_true] : predictions) {
    const bool turned = probability < 0.5;
    const double p = turned ? 1 - probability : probability;
    const double outcome = came_true != turned ? 1 : 0;
    score.brier += (p - outcome) * (p - outcome);
    const auto place = static_cast<std::size_t>((p - 0.5) * 10);
    ReliabilityBin& bin = score.bins[std::min(place, bin_count - 1)];
    ++bin.count;
    bin.predicted += p;
    bin.observed += outcome;
  }
  if (score.count > 0) score.brier /= static_cast<double>(score.count);
  for (ReliabilityBin& bin : score.bins) {
    if (bin.count == 0) continue;
    bin.predicted /= static_cast<double>(bin.count);
    bin.observed /= static_cast<double>(bin.count);
  }
  return score;
}

}  // namespace schedlab
