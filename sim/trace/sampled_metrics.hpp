// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/statistics.hpp"
#include "sim/trace/summary.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// The numbers of a summary that may scatter from run to run: every one of a sweep's results but
/// the counts that follow from graph and plan. Names as in the results, in their order.
[[nodiscard]] const std::vector<std::string>& sampled_metrics();

/// Summaries of many runs of one scenario on a machine that scatters.
class Samples {
 public:
  void add(const Summary& summary);

  [[nodiscard]] std::size_t count() const { return makespans_.size(); }
  /// In the order of the samples.
  [[nodiscard]] const std::vector<Duration>& makespans() const { return makespans_; }
  /// One per sampled_metrics(); without samples (count 0) where a run had no such number.
  [[nodiscard]] std::vector<SampleSummary> summaries() const;

 private:
  std::vector<Duration> makespans_;
  std::vector<std::vector<double>> values_;  // [metric][sample that has it]
};

/// How often one schedule beats another when both meet the same samples.
struct PairComparison {
  std::size_t samples = 0;
  std::size_t ties = 0;
  Proportion faster;    ///< that the first has the shorter makespan; a tie counts half
  SampleSummary ratio;  ///< makespan of the second over that of the first: above 1 the first wins
};

/// Both of one length, sample by sample.
[[nodiscard]] PairComparison compare_samples(const std::vector<Duration>& first,
                                             const std::vector<Duration>& second);

}  // namespace schedlab
