// SPDX-License-Identifier: Apache-2.0
#include "hw_models/roofline.hpp"

#include "hw_models/kernel_cost.hpp"

#include <algorithm>

namespace schedlab {
namespace {

Estimate kernel_roofline(const Kernel& kernel, const Device& device, double efficiency) {
  if (is_host_copy(kernel.kind)) return host_copy_cost(kernel, device);
  const Bytes bytes = memory_traffic(kernel);
  const Duration compute = kernel.flops > Flops{0.0}
                               ? kernel.flops / (peak_rate(kernel, device) * efficiency)
                               : Duration{0};
  const Duration memory = memory_time(kernel, device);
  Estimate result{.duration = std::min(std::max(compute, memory), longest_operation),
                  .share = 1.0,
                  .bandwidth = {},
                  .bound = compute > memory ? Bound::compute : Bound::memory};
  if (result.duration <= device.kernel_floor) {
    result.duration = device.kernel_floor;
    result.bound = Bound::latency;
  }
  set_grid(kernel.grid, resident_blocks(kernel.grid.block, device), result);
  const double seconds = to_seconds(result.duration);
  if (seconds > 0.0) {
    result.compute_share = static_cast<float>(std::min(1.0, to_seconds(compute) / seconds));
  }
  if (seconds > 0.0) {
    result.bandwidth = Bandwidth{static_cast<double>(bytes.count()) / seconds};
  }
  return result;
}

}  // namespace

Estimate Roofline::estimate(const Operation& operation, const Device& device) const {
  if (has_only_a_duration(operation)) return fixed_cost(operation, device);
  KernelSum sum{operation, device, Duration{0}};
  for (const Kernel& kernel : operation.kernels) {
    refuse_unmodelled(kernel, operation);
    sum.add(kernel, kernel_roofline(kernel, device, efficiency_));
  }
  return sum.total();
}

}  // namespace schedlab
