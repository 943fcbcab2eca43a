// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/speed_of_machine.hpp"

#include "sim/base/robust_statistics.hpp"
#include "sim/base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace schedlab {

SpeedOfMachine::SpeedOfMachine(const Measurements& measured) : measured_(measured) {
  if (!known()) return;
  std::vector<double> overall;
  for (const SpeedCheck& check : measured.speed_checks) overall.push_back(check.reading.overall());
  median_ = median(overall);
}

std::optional<DriftReading> SpeedOfMachine::of_group(std::size_t group) const {
  std::vector<DriftReading> readings;
  for (const SpeedCheck& check : measured_.speed_checks) {
    if (check.group == group) readings.push_back(check.reading);
  }
  if (readings.empty()) return std::nullopt;
  return median_reading(readings);
}

bool SpeedOfMachine::far(const SpeedCheck& check) const {
  return std::abs(check.reading.overall() / median_ - 1) > disturbed_by;
}

bool SpeedOfMachine::disturbed(std::size_t group, std::uint32_t round) const {
  const SpeedCheck* before = nullptr;
  for (const SpeedCheck& check : measured_.speed_checks) {
    if (check.group != group) continue;
    if (check.round > round) return far(check) || (before != nullptr && far(*before));
    before = &check;
  }
  return before != nullptr && far(*before);
}

SpeedSummary SpeedOfMachine::summary(const std::vector<std::uint32_t>& rounds) const {
  SpeedSummary result;
  result.checks = measured_.speed_checks.size();
  if (!known()) return result;
  std::vector<double> one;
  std::vector<double> all;
  std::vector<double> overall;
  for (const SpeedCheck& check : measured_.speed_checks) {
    one.push_back(check.reading.one_unit());
    all.push_back(check.reading.all_units());
    overall.push_back(check.reading.overall());
  }
  std::sort(overall.begin(), overall.end());
  result.one_unit = median(one);
  result.all_units = median(all);
  result.overall = median_;
  result.p5 = percentile(overall, 0.05);
  result.p95 = percentile(overall, 0.95);
  for (std::size_t group = 0; group < rounds.size(); ++group) {
    result.rounds += rounds[group];
    for (std::uint32_t round = 0; round < rounds[group]; ++round) {
      result.disturbed += disturbed(group, round) ? 1U : 0U;
    }
  }
  return result;
}

}  // namespace schedlab
