// SPDX-License-Identifier: Apache-2.0
#include "hw_models/measured.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace schedlab {
namespace {

constexpr double min_slow_down = 1.02;  // below it is noise // assumed

std::uint32_t units_of(TaskKind kind, const Device& device) {
  const UnitClassId id = device.unit_class_of[static_cast<std::size_t>(kind)];
  const std::uint32_t count = id.valid() ? device.unit_classes[id].count : 0;
  if (count > 0) return count;
  return device.rates.matrix_units > 0 ? device.rates.matrix_units : device.profile->units;
}

/// The kernel with the grid it is run with.
Kernel cut(Kernel kernel, const Device& device) {
  if (kernel.grid.blocks != 0) return kernel;
  const bool whole = is_host_copy(kernel.kind) || kernel.kind == TaskKind::copy_device_to_device;
  kernel.grid.blocks =
      whole ? 1 : device.profile->cut.blocks(kernel, units_of(kernel.kind, device));
  return kernel;
}

/// What only its duration is known of is one block.
Estimate spin_cost(const Operation& operation, const Device& device) {
  Estimate result = fixed_cost(operation, device);
  if (!operation.kernels.empty()) return result;
  result.share = 1.0 / static_cast<double>(units_of(operation.kind, device));
  result.blocks = 1;
  return result;
}

/// Kernels of the operation that are equal to `kernel`, one of them, and stand before it.
std::size_t equal_before(const Operation& operation, const Kernel& kernel) {
  std::size_t count = 0;
  for (const Kernel& other : operation.kernels) {
    if (&other == &kernel) break;
    if (other == kernel) ++count;
  }
  return count;
}

const KernelClass& class_of(const Operation& operation,
                            const Kernel& kernel,
                            std::size_t before,
                            const ProfileFits& fits,
                            const Device& device) {
  const KernelClass* found = fits.find(operation, kernel, before);
  if (found != nullptr) return *found;
  throw InfeasibleError(fmt::format(
      "operation \"{}\": no kernel of kind {} in {} that does such work was measured on \"{}\"\n  "
      "calibrate with kernels like it (schedlab calibrate), or choose another cost model",
      operation.name,
      to_string(kernel.kind),
      to_string(kernel.type),
      device.name));
}

/// Bytes per second of each unit that the kernel runs on, over those of one that copies beyond its
/// caches, at most 1; 1 if that was not measured.
double streaming_part(const Kernel& kernel, double seconds, const Device& device) {
  const double most = device.rates.unit_bandwidth.count();
  if (most <= 0.0) return 1.0;
  const auto units = std::min(std::max(1U, kernel.grid.blocks), units_of(kernel.kind, device));
  const double rate = static_cast<double>(traffic(kernel).count()) / (seconds * units);
  return std::min(1.0, rate / most);
}

/// Its blocks, of a product no more than the units that it leaves to no other kernel.
std::uint32_t busy_blocks(const Kernel& kernel, const KernelFit& fit, const Device& device) {
  const double hidden = device.profile->hidden_latency;
  if (hidden == 0 || !runs_on_matrix_units(kernel.kind)) return kernel.grid.blocks;
  const std::uint32_t units = units_of(kernel.kind, device);
  const double busy = std::round(units * (1 - hidden * fit.waiting(kernel, units)));
  if (busy >= units) return kernel.grid.blocks;
  return std::min(kernel.grid.blocks, std::max(1U, static_cast<std::uint32_t>(busy)));
}

Estimate kernel_cost(const Kernel& kernel, const KernelClass& one, const Device& device) {
  const std::uint32_t units = units_of(kernel.kind, device);
  const double seconds = one.fit().seconds(kernel, units);
  const KernelFit::Parts parts = one.fit().parts(kernel, units);
  const std::uint32_t blocks = busy_blocks(kernel, one.fit(), device);
  Estimate result{
      .duration = std::max(device.kernel_floor, bounded_seconds(seconds)),
      .share = static_cast<double>(std::min(blocks, units)) / static_cast<double>(units),
      .bandwidth = {},
      .bound = parts.flops > parts.bytes ? Bound::compute : Bound::memory,
      .blocks = blocks};
  if (parts.fixed > parts.flops + parts.bytes) result.bound = Bound::latency;
  const double slow_down = device.profile->co_run_factor(kernel.kind);
  if (slow_down > min_slow_down && device.rates.memory > Bandwidth{0.0}) {
    const double wanted = result.share * slow_down * streaming_part(kernel, seconds, device);
    result.bandwidth = reachable_bandwidth(device) * std::min(1.0, wanted);
  }
  return result;
}

}  // namespace

std::shared_ptr<const ProfileFits> Measured::fits(const Device& device) const {
  if (calibrated_profile(device) == nullptr) {
    throw InfeasibleError(
        fmt::format("cost model measured: nothing was measured on device \"{}\"\n  make a machine "
                    "file with schedlab calibrate, or choose another cost model",
                    device.name));
  }
  const std::lock_guard lock(mutex_);
  for (const Fitted& one : fitted_) {
    if (one.profile == device.profile) return one.fits;
  }
  fitted_.push_back({device.profile, std::make_shared<const ProfileFits>(*device.profile)});
  return fitted_.back().fits;
}

Estimate Measured::estimate(const Operation& operation, const Device& device) const {
  const auto fits = this->fits(device);
  if (has_only_a_duration(operation)) return spin_cost(operation, device);
  KernelSum sum{operation, device, device.stream_gap};
  for (const Kernel& given : operation.kernels) {
    refuse_unmodelled(given, operation);
    const Kernel kernel = cut(given, device);
    if (is_host_copy(given.kind) && fits->find(operation, kernel) == nullptr) {
      sum.add(given, host_copy_cost(given, device));
      continue;
    }
    const std::size_t before = equal_before(operation, given);
    const KernelClass& one = class_of(operation, kernel, before, *fits, device);
    sum.add(kernel, kernel_cost(kernel, one, device));
  }
  return sum.total();
}

PredictionQuality Measured::quality(const Operation& operation, const Device& device) const {
  PredictionQuality quality;
  if (has_only_a_duration(operation)) return quality;
  const auto fits = this->fits(device);
  struct Part {
    const std::vector<double>* ratios;
    double seconds;
  };
  const KernelClass* only = nullptr;
  std::vector<Part> parts;
  std::size_t most = 0;
  double sum = 0;
  for (const Kernel& given : operation.kernels) {
    const Kernel kernel = cut(given, device);
    if (is_host_copy(given.kind) && fits->find(operation, kernel) == nullptr) continue;
    const std::size_t before = equal_before(operation, given);
    const KernelClass& one = class_of(operation, kernel, before, *fits, device);
    quality.in_calibrated_range = quality.in_calibrated_range && one.in_calibrated_range(kernel);
    only = &one;
    parts.push_back({&one.ratios(), one.fit().seconds(kernel, units_of(kernel.kind, device))});
    most = std::max(most, one.ratios().size());
    sum += parts.back().seconds;
  }
  for (std::size_t rank = 0; rank < most; ++rank) {
    double ratio = 0;
    for (const Part& part : parts) {
      const std::size_t at =
          (2 * rank + 1) * part.ratios->size() / (2 * most);  // the same quantile
      ratio += (*part.ratios)[at] * part.seconds / sum;
    }
    quality.ratios.push_back(ratio);
  }
  if (parts.size() == 1) quality.working_sets = only->working_sets();
  return quality;
}

}  // namespace schedlab
