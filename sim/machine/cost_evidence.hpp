// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>

namespace schedlab {

struct Kernel;
class TaskGraph;

/// What the durations of a device's kernels rest on, and with them a result.
enum class CostEvidence : std::uint8_t {
  data_sheet,  ///< its data sheet, assumptions, and what was fitted to other devices
  calibrated,  ///< measurements of such devices, for at least some kinds of kernels
  replayed,    ///< durations that a profile recorded of this very work, simulated again
  measured,    ///< the times of a run as they were recorded
};
template <>
struct EnumNames<CostEvidence> {
  static constexpr auto names = name_list("data_sheet", "calibrated", "replayed", "measured");
};
[[nodiscard]] CostEvidence cost_evidence(const Device& device);
/// Of one kernel. A device calibrated on other kinds of kernels is no evidence for it.
[[nodiscard]] CostEvidence cost_evidence(const Kernel& kernel, const Device& device);
/// Of a simulated graph: calibrated where the device is, for at least some of its kernels.
[[nodiscard]] CostEvidence cost_evidence(const TaskGraph& graph, const Device& device);

}  // namespace schedlab
