// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/execution/execution_device.hpp"

namespace schedlab {

/// The OpenCL devices of this computer, through OpenClExecutor.
[[nodiscard]] DeviceKind opencl_kind();

}  // namespace schedlab
