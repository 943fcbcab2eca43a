// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/kernel_profile.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace schedlab {

std::uint32_t CutRule::blocks(const Kernel& kernel, std::uint32_t units) const {
  SCHEDLAB_EXPECTS(flops_per_block > 0.0 && bytes_per_block > 0.0 && units >= 1, "cut rule");
  const auto bytes = static_cast<double>((kernel.bytes_read + kernel.bytes_written).count());
  const double wanted =
      std::round(std::max(kernel.flops.count() / flops_per_block, bytes / bytes_per_block));
  return static_cast<std::uint32_t>(std::clamp(wanted, 1.0, static_cast<double>(units)));
}

double KernelProfile::co_run_factor(TaskKind kind) const {
  const auto found = std::find_if(
      co_run.begin(), co_run.end(), [&](const CoRunSlowDown& c) { return c.kind == kind; });
  return found == co_run.end() ? 1.0 : found->factor;
}

}  // namespace schedlab
