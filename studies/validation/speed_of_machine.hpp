// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/drift.hpp"
#include "studies/execution/measurement.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace schedlab {

/// What the speed checks of a measurement say of the machine as a whole. Factors: kernel durations
/// over those of the calibration.
struct SpeedSummary {
  std::size_t checks = 0;  ///< 0: nothing is known
  double one_unit = 1;     ///< medians over the checks
  double all_units = 1;
  double overall = 1;
  double p5 = 1;  ///< of the overall factors
  double p95 = 1;
  std::size_t rounds = 0;     ///< that were measured, over all groups
  std::size_t disturbed = 0;  ///< of these
};

/// A round is disturbed if the last check before it or the first one after it is further than this
/// from the median of all checks (overall factors).
inline constexpr double disturbed_by = 0.10;  // assumed

/// Reads the speed checks of one measurement.
class SpeedOfMachine {
 public:
  /// `measured` must outlive this.
  explicit SpeedOfMachine(const Measurements& measured);

  [[nodiscard]] bool known() const { return !measured_.speed_checks.empty(); }
  /// Median of a group's speed checks; nullopt if it has none.
  [[nodiscard]] std::optional<DriftReading> of_group(std::size_t group) const;
  /// False where nothing is known.
  [[nodiscard]] bool disturbed(std::size_t group, std::uint32_t round) const;
  /// `rounds`: of each group.
  [[nodiscard]] SpeedSummary summary(const std::vector<std::uint32_t>& rounds) const;

 private:
  [[nodiscard]] bool far(const SpeedCheck& check) const;

  const Measurements& measured_;
  double median_ = 1;
};

}  // namespace schedlab
