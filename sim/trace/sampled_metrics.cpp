// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/sampled_metrics.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/summary_fields.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace schedlab {
namespace {

const Fields<Summary>& sampled_fields() {
  static const Fields<Summary> fields = summary_fields().in(in_samples);
  return fields;
}

std::optional<double> number_of(const FieldValue& value) {
  if (const auto* time = std::get_if<Duration>(&value)) return to_us(*time);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*count);
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& sampled_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Field& field : sampled_fields()) all.push_back(field.name);
    return all;
  }();
  return names;
}

void Samples::add(const Summary& summary) {
  makespans_.push_back(summary.makespan);
  values_.resize(sampled_fields().size());
  auto values = values_.begin();
  for (const Field& field : sampled_fields()) {
    const std::optional<double> value = number_of(field.value(&summary));
    if (value) values->push_back(*value);
    ++values;
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
