// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/drift.hpp"

#include "sim/base/robust_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace schedlab {
namespace {

double geometric_mean(const std::vector<DriftReading::Factors>& kinds,
                      double DriftReading::Factors::*which) {
  if (kinds.empty()) return 1;
  double sum = 0;
  for (const DriftReading::Factors& kind : kinds) sum += std::log(kind.*which);
  return std::exp(sum / static_cast<double>(kinds.size()));
}

}  // namespace

double DriftReading::factor(TaskKind kind, bool all_units) const {
  const auto which = all_units ? &Factors::all_units : &Factors::one_unit;
  const auto found = std::find_if(
      kinds.begin(), kinds.end(), [&](const Factors& factors) { return factors.kind == kind; });
  return found != kinds.end() ? (*found).*which : geometric_mean(kinds, which);
}

double DriftReading::one_unit() const {
  return geometric_mean(kinds, &Factors::one_unit);
}

double DriftReading::all_units() const {
  return geometric_mean(kinds, &Factors::all_units);
}

double DriftReading::overall() const {
  return std::sqrt(one_unit() * all_units());
}

DriftReading median_reading(std::span<const DriftReading> readings) {
  DriftReading result;
  for (std::size_t i = 0; i < task_kind_count; ++i) {
    const auto kind = static_cast<TaskKind>(i);
    std::vector<double> one;
    std::vector<double> all;
    for (const DriftReading& reading : readings) {
      for (const DriftReading::Factors& factors : reading.kinds) {
        if (factors.kind != kind) continue;
        one.push_back(factors.one_unit);
        all.push_back(factors.all_units);
      }
    }
    if (!one.empty()) {
      result.kinds.push_back({.kind = kind, .one_unit = median(one), .all_units = median(all)});
    }
  }
  return result;
}

}  // namespace schedlab
