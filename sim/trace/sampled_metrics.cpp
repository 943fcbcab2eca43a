// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/sampled_metrics.hpp"

#include "sim/base/error.hpp"

#include <utility>

namespace schedlab {

const std::vector<SampledMetric>& sampled_metrics() {
  static const std::vector<SampledMetric> metrics{
      {"makespan_us", [](const Summary& s) { return to_us(s.makespan); }},
      {"gap", [](const Summary& s) { return s.gap; }},
      {"utilization", [](const Summary& s) { return s.utilization; }},
      {"busy_share", [](const Summary& s) { return s.busy_share; }},
      {"mean_concurrency", [](const Summary& s) { return s.mean_concurrency; }},
      {"overlap_share", [](const Summary& s) { return s.overlap_share; }},
      {"host_busy_share", [](const Summary& s) { return s.host_busy_share; }},
      {"host_bound_share", [](const Summary& s) { return s.host_bound_share; }},
      {"peak_memory_bytes",
       [](const Summary& s) { return static_cast<double>(s.peak_memory.count()); }},
  };
  return metrics;
}

void Samples::add(const Summary& summary) {
  makespans_.push_back(summary.makespan);
  values_.resize(sampled_metrics().size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i].push_back(sampled_metrics()[i].value(summary));
  }
}

std::vector<SampleSummary> Samples::summaries() const {
  std::vector<SampleSummary> result(sampled_metrics().size());
  for (std::size_t i = 0; i < values_.size(); ++i) result[i] = summarize_samples(values_[i]);
  return result;
}

PairComparison compare_samples(const std::vector<Duration>& first,
                               const std::vector<Duration>& second) {
  SCHEDLAB_EXPECTS(first.size() == second.size(), "samples of both");
  PairComparison result;
  result.samples = first.size();
  double wins = 0;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == second[i]) ++result.ties;
    wins += first[i] < second[i] ? 1.0 : first[i] == second[i] ? 0.5 : 0.0;
    const bool empty = first[i] <= Duration{0};
    ratios.push_back(empty ? 1.0
                           : static_cast<double>(second[i].count()) /
                                 static_cast<double>(first[i].count()));
  }
  result.faster = proportion(wins, first.size());
  result.ratio = summarize_samples(std::move(ratios));
  return result;
}

}  // namespace schedlab
