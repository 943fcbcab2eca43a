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
  for (const ProbeRecord& probe : measured.probes) overall.push_back(probe.reading.overall());
  median_ = median(overall);
}

std::optional<DriftReading> SpeedOfMachine::of_group(std::size_t group) const {
  std::vector<DriftReading> readings;
  for (const ProbeRecord& probe : measured_.probes) {
    if (probe.group == group) readings.push_back(probe.reading);
  }
  if (readings.empty()) return std::nullopt;
  return median_reading(readings);
}

bool SpeedOfMachine::far(const ProbeRecord& probe) const {
  return std::abs(probe.reading.overall() / median_ - 1) > disturbed_by;
}

bool SpeedOfMachine::disturbed(std::size_t group, std::uint32_t round) const {
  const ProbeRecord* before = nullptr;
  for (const ProbeRecord& probe : measured_.probes) {
    if (probe.group != group) continue;
    if (probe.round > round) return far(probe) || (before != nullptr && far(*before));
    before = &probe;
  }
  return before != nullptr && far(*before);
}

SpeedSummary SpeedOfMachine::summary(const std::vector<std::uint32_t>& rounds) const {
  SpeedSummary result;
  result.probes = measured_.probes.size();
  if (!known()) return result;
  std::vector<double> one;
  std::vector<double> all;
  std::vector<double> overall;
  for (const ProbeRecord& probe : measured_.probes) {
    one.push_back(probe.reading.one_unit());
    all.push_back(probe.reading.all_units());
    overall.push_back(probe.reading.overall());
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
