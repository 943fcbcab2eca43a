// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/opencl/product_tuning.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/scenario/components.hpp"

namespace schedlab {

/// The OpenCL devices of this computer, through OpenClExecutor.
[[nodiscard]] DeviceKind opencl_kind();

/// CLBlast's parameters in the machines of a grid that were calibrated on the device of this number
/// (by its name); empty: no machine has any. Throws InputError where two have different ones.
[[nodiscard]] ProductParameters machine_products(const Components& components,
                                                 const Grid& grid,
                                                 int device);

}  // namespace schedlab
