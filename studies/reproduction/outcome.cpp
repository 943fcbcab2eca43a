// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/outcome.hpp"

#include "notebooks_export/sweep_view.hpp"
#include "studies/reproduction/row_statistics.hpp"
#include "studies/spec/axis_label.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace schedlab {
namespace {

double middle(std::vector<double> values) {
  return spread_of(std::move(values)).median;
}

/// Relative distance of a value from what is printed; 0 inside a range.
double distance(const PublishedPoint& point, double value) {
  if (point.value) return *point.value != 0 ? value / *point.value - 1 : value;
  if (point.low && value < *point.low) return value / *point.low - 1;
  if (point.high && value > *point.high) return value / *point.high - 1;
  return 0;
}

/// Error of a row; none where nothing but words is printed.
std::optional<double> error_of(const PublishedPoint& point, const Spread& simulated) {
  if (point.above || point.below) return std::nullopt;
  if (point.judged_by == JudgedBy::median) return distance(point, simulated.median);
  const double low = distance(point, simulated.min);
  const double high = distance(point, simulated.max);
  return std::abs(low) > std::abs(high) ? low : high;
}

std::vector<AxisEffect> effects_of(const Table& table,
                                   const ClaimSamples& found,
                                   const PublishedPoint& point) {
  std::vector<AxisEffect> effects;
  for (std::size_t i = 0; i < found.axes.size(); ++i) {
    std::map<Cell, std::vector<double>> groups;
    for (const ClaimSample& sample : found.samples) {
      if (sample.axes[i].index() != 0) groups[sample.axes[i]].push_back(sample.value);
    }
    if (groups.size() < 2) continue;
    AxisEffect effect{table.columns[found.axes[i]].name, {}, 1};
    double low = 0;
    double high = 0;
    for (const auto& [value, samples] : groups) {
      const auto met = std::count_if(
          samples.begin(), samples.end(), [&](double sample) { return is_met(point, sample); });
      const double median = middle(samples);
      low = effect.values.empty() ? median : std::min(low, median);
      high = std::max(high, median);
      effect.values.push_back({value,
                               samples.size(),
                               median,
                               static_cast<double>(met) / static_cast<double>(samples.size())});
    }
    effect.effect = low > 0 ? high / low : 1;
    effects.push_back(std::move(effect));
  }
  std::stable_sort(effects.begin(), effects.end(), [](const auto& a, const auto& b) {
    return a.effect > b.effect;
  });
  return effects;
}

ClaimStatus status_of(const PublishedPoint& point, const Outcome& outcome) {
  if (point.judged_by == JudgedBy::all) {
    if (outcome.share_met == 1) return ClaimStatus::within;
    return outcome.share_met > 0 ? ClaimStatus::in_part : ClaimStatus::missed;
  }
  if (is_met(point, outcome.simulated.median)) return ClaimStatus::within;
  const bool straddled =
      point.value && outcome.simulated.min <= *point.value && *point.value <= outcome.simulated.max;
  return outcome.share_met > 0 || straddled ? ClaimStatus::in_part : ClaimStatus::missed;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  Spread spread;
  spread.count = values.size();
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  spread.min = values.front();
  spread.lower_quartile = at(0.25);
  spread.median = at(0.5);
  spread.upper_quartile = at(0.75);
  spread.max = values.back();
  return spread;
}

bool is_met(const PublishedPoint& point, double value) {
  const auto slack = [](double printed) { return equal_within * std::abs(printed); };
  if (point.value) return std::abs(value - *point.value) <= slack(*point.value);
  return (!point.low || value >= *point.low - slack(*point.low)) &&
         (!point.high || value <= *point.high + slack(*point.high)) &&
         (!point.above || value > *point.above) && (!point.below || value < *point.below);
}

Outcome compare(const Claim& claim, const PublishedPoint& point, const Table& table) {
  Outcome outcome;
  outcome.claim = &claim;
  outcome.point = &point;
  if (!claim.no_answer.empty()) {
    outcome.status = ClaimStatus::not_covered;
    return outcome;
  }
  const Measure measure = measure_at(claim, point);
  const ClaimSamples found = collect_samples(table, measure, point.at);
  outcome.missing = found.missing;
  if (found.samples.empty()) return outcome;
  std::vector<double> values;
  for (const ClaimSample& sample : found.samples) values.push_back(sample.value);
  const auto met = std::count_if(
      values.begin(), values.end(), [&](double value) { return is_met(point, value); });
  outcome.share_met = static_cast<double>(met) / static_cast<double>(values.size());
  outcome.simulated = spread_of(std::move(values));
  outcome.error = error_of(point, outcome.simulated);
  outcome.status = status_of(point, outcome);
  outcome.effects = effects_of(table, found, point);
  if (outcome.status != ClaimStatus::within) {
    outcome.statistics = statistics_of(table, measure, point, found, outcome.effects);
  }
  return outcome;
}

}  // namespace schedlab
