// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fixed.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

Estimate FixedCost::estimate(const Operation& operation, const Device& device) const {
  Estimate result = fixed_cost(operation, device);
  if (result.blocks == 0) result.share = std::min(result.share, share_);
  if (duration_ > Duration{0}) {
    result.duration = duration_;
    return result;
  }
  if (operation.fixed_duration == Duration{0} && !operation.kernels.empty()) {
    throw InfeasibleError(
        fmt::format("operation \"{}\" has kernels but no duration of its own, so the cost model "
                    "\"fixed\" cannot cost it\n  set its option duration_us, or use roofline or "
                    "tiled_gemm",
                    operation.name));
  }
  return result;
}

}  // namespace schedlab
