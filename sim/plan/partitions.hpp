// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"

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

}  // namespace schedlab
