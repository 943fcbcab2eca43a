// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fixed.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab {

Estimate FixedCost::estimate(const Operation& operation, const Device& /*device*/) const {
  Estimate result{.duration = duration_, .share = share_, .bandwidth = {}, .bound = Bound::fixed};
  if (duration_ > Duration{0}) return result;
  if (operation.fixed_duration == Duration{0} && !operation.kernels.empty()) {
    throw InfeasibleError(
        fmt::format("operation \"{}\" has kernels but no duration of its own, so the cost model "
                    "\"fixed\" cannot cost it\n  set its option duration_us, or use roofline or "
                    "tiled_gemm",
                    operation.name));
  }
  result.duration = operation.fixed_duration;
  return result;
}

}  // namespace schedlab
