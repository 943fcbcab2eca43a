// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// The class of units that partitions divide: that of matrix kernels. none(): units are unlimited.
[[nodiscard]] UnitClassId divided_class(const Device& device);
/// Why the device's units cannot be divided into partitions of so many units and a rest of at least
/// one; empty: they can.
[[nodiscard]] std::string why_not_divided(const Platform& platform,
                                          const Device& device,
                                          const std::vector<std::uint32_t>& partitions);
/// Throws InfeasibleError, with the reason, if a device of the platform cannot be so divided.
void expect_divided(const Platform& platform, const std::vector<std::uint32_t>& partitions);
/// What partitions leave of `units`, at least 1.
[[nodiscard]] std::uint32_t units_left(std::uint32_t units,
                                       const std::vector<std::uint32_t>& partitions);

/// Of a device whose units are divided: those that kernels of a stream are placed on.
struct UnitPart {
  std::uint32_t units = 0;
  std::uint32_t whole = 0;  ///< of the device

  /// "64 of 132 units".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const UnitPart&, const UnitPart&) = default;
};
/// By stream; empty: the plan divides nothing, or the platform's units are not known.
[[nodiscard]] IdVector<StreamId, UnitPart> unit_parts(const Platform& platform, const Plan& plan);
/// The plan with all units for all streams.
[[nodiscard]] Plan undivided(Plan plan);

}  // namespace schedlab
