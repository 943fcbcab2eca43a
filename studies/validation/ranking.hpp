// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {

/// Signed relative errors of several scenarios.
struct ErrorSummary {
  std::size_t count = 0;
  double median = 0;  ///< of the absolute errors, as p90 and most
  double p90 = 0;
  double max = 0;
  double bias = 0;  ///< median of the signed errors: above 0 predictions are too long
};
[[nodiscard]] ErrorSummary summarize_errors(const std::vector<double>& errors);

/// Kendall's tau-b of two orders of the same things: 1 the same order, -1 the reverse, ties
/// accounted for. nullopt for fewer than two things, or where all are equal in one order.
///
/// Cost    O(n^2).
/// Source  Kendall, Biometrika 33(3), 1945, doi 10.1093/biomet/33.3.239 (tau-b).
[[nodiscard]] std::optional<double> kendall_tau(const std::vector<double>& a,
                                                const std::vector<double>& b);

/// What is lost by taking the predicted best: its measured time over the measured best, minus 1.
/// Ties: the first prediction counts. Both of one length, not empty, above 0.
[[nodiscard]] double regret_of(const std::vector<double>& predicted,
                               const std::vector<double>& measured);

/// Predictions of one probability range, and how often they came true.
struct ReliabilityBin {
  double low = 0;  ///< of the predicted probability
  double high = 0;
  std::size_t count = 0;
  double predicted = 0;  ///< mean of the predicted probabilities
  double observed = 0;   ///< share that came true
};

struct ProbabilityScore {
  std::size_t count = 0;
  /// Mean of (probability - outcome)^2: 0 always sure and right, 0.25 a coin, 1 always sure and
  /// wrong. Source  Brier, Monthly Weather Review 78(1), 1950.
  double brier = 0;
  std::vector<ReliabilityBin> bins;  ///< five from 0.5 to 1; those without predictions too
};
/// Each: the probability that the first of a pair is faster, and whether it was. Which of a pair
/// is the first is arbitrary, so a probability p below 0.5 counts as 1 - p of the opposite.
[[nodiscard]] ProbabilityScore score_probabilities(
    const std::vector<std::pair<double, bool>>& predictions);

}  // namespace schedlab
