// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/opencl/opencl_executor.hpp"
#include "tests/support/skip.hpp"

namespace schedlab::testing {

/// Without an OpenCL device: skips the test case, which must then return. The package
/// pocl-opencl-icd makes a device of the processor's cores.
[[nodiscard]] inline bool opencl_missing() {
  const OpenClDevices found = opencl_devices();
  if (found.devices.empty()) skip(found.reason);
  return found.devices.empty();
}

}  // namespace schedlab::testing
