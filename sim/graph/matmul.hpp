// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

namespace schedlab {

/// Does the operation multiply matrices (a gemm or convolution kernel, or, where kernels are
/// not known, class critical_matmul or weight_gradient)?
[[nodiscard]] bool is_matmul(const Operation& operation);

}  // namespace schedlab
