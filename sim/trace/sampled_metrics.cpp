// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/sampled_metrics.hpp"

#include "sim/base/error.hpp"

#include <utility>

namespace schedlab {

const std::vector<SampledMetric>& sampled_metrics() {
  using Value = std::optional<double>;
  static const std::vector<SampledMetric> metrics{
      {"makespan_us", [](const Summary& s) -> Value { return to_us(s.makespan); }},
      {"bound_us", [](const Summary& s) -> Value { return to_us(s.bounds.largest()); }},
      {"gap", [](const Summary& s) -> Value { return s.gap; }},
      {"utilization", [](const Summary& s) -> Value { return s.utilization; }},
      {"busy_share", [](const Summary& s) -> Value { return s.busy_share; }},
      {"mean_concurrency", [](const Summary& s) -> Value { return s.mean_concurrency; }},
      {"overlap_share", [](const Summary& s) -> Value { return s.overlap_share; }},
      {"matmul_share", [](const Summary& s) -> Value { return s.matmul_share; }},
      {"host_busy_share", [](const Summary& s) -> Value { return s.host_busy_share; }},
      {"host_bound_share", [](const Summary& s) -> Value { return s.host_bound_share; }},
      {"load_us", [](const Summary& s) -> Value { return to_us(s.load); }},
      {"head_overhead_us", [](const Summary& s) -> Value { return to_us(s.head_overhead); }},
      {"collective_wait_us", [](const Summary& s) -> Value { return to_us(s.collective_wait); }},
      {"peak_memory_bytes",
       [](const Summary& s) -> Value { return static_cast<double>(s.peak_memory.count()); }},
      {"bubble_share", [](const Summary& s) -> Value { return s.bubble_share; }},
      // An online policy makes other calls in each sample.
      {"host_calls", [](const Summary& s) -> Value { return static_cast<double>(s.host_calls); }},
      {"queries", [](const Summary& s) -> Value { return static_cast<double>(s.queries); }},
  };
  return metrics;
}

void Samples::add(const Summary& summary) {
  makespans_.push_back(summary.makespan);
  values_.resize(sampled_metrics().size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::optional<double> value = sampled_metrics()[i].value(summary);
    if (value) values_[i].push_back(*value);
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
