// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/execution/execution_device.hpp"

namespace schedlab {

/// This computer's cores, through CpuExecutor. Spaces are prepared for the workers
/// (ScenarioSpace::prepare_for_execution), so that the plans that are simulated are those that run.
[[nodiscard]] DeviceKind cpu_kind();

}  // namespace schedlab
