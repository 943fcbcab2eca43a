// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>

namespace schedlab {

/// What the durations of a device's kernels rest on.
enum class CostEvidence : std::uint8_t {
  data_sheet,  ///< its data sheet, assumptions, and what was fitted to other devices
  calibrated,  ///< measurements of such devices, for at least some kinds of kernels
};
template <>
struct EnumNames<CostEvidence> {
  static constexpr auto names = name_list("data_sheet", "calibrated");
};
[[nodiscard]] CostEvidence cost_evidence(const Device& device);

}  // namespace schedlab
