// SPDX-License-Identifier: Apache-2.0
#include "hw_models/kernel_cost.hpp"

#include "sim/base/error.hpp"
#include "sim/machine/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

[[noreturn]] void refuse(const Device& device, const std::string& what, const std::string& key) {
  throw InfeasibleError(
      fmt::format(
          "device \"{}\" has no {}\n  give {} in the machine file, or choose another machine",
          device.name,
          what,
          key),
      what,
      "a rate above 0",
      "0");
}

}  // namespace

Duration bounded_seconds(double seconds) {
  return std::min(round_up_seconds(seconds), longest_operation);
}

FlopRate peak_rate(const Kernel& kernel, const Device& device) {
  const bool matrix = runs_on_matrix_units(kernel.kind);
  const auto type = static_cast<std::size_t>(kernel.type);
  const FlopRate rate = matrix ? device.rates.matrix[type] : device.rates.vector[type];
  if (rate > FlopRate{0.0}) return rate;
  const std::string_view word = to_string(kernel.type);
  refuse(device,
         fmt::format("rate for {} kernels in {}", matrix ? "matrix" : "point-wise", word),
         fmt::format("{}_tflop_per_s/{}", matrix ? "matrix" : "vector", word));
}

Bandwidth reachable_bandwidth(const Device& device) {
  if (device.rates.memory > Bandwidth{0.0}) {
    return device.rates.memory * device.rates.memory_efficiency;
  }
  refuse(device, "memory bandwidth", "memory_bandwidth_gb_per_s");
}

bool runs_on_matrix_units(TaskKind kind) {
  return kind == TaskKind::gemm || kind == TaskKind::convolution;
}

bool is_host_copy(TaskKind kind) {
  return kind == TaskKind::copy_host_to_device || kind == TaskKind::copy_device_to_host;
}

Bytes traffic(const Kernel& kernel) {
  return kernel.bytes_read + kernel.bytes_written;
}

Bytes memory_traffic(const Kernel& kernel) {
  return traffic(kernel) - std::min(kernel.bytes_cached, kernel.bytes_read);
}

Duration memory_time(const Kernel& kernel, const Device& device, double more, double share) {
  const double missed = static_cast<double>(memory_traffic(kernel).count()) + more;
  if (missed + static_cast<double>(kernel.bytes_cached.count()) <= 0.0) return Duration{0};
  double seconds = missed / (reachable_bandwidth(device).count() * share);
  if (kernel.bytes_cached > Bytes{0} && device.rates.l2_bandwidth > Bandwidth{0.0}) {
    const double all = static_cast<double>(traffic(kernel).count()) + more;
    seconds = std::max(seconds, all / device.rates.l2_bandwidth.count());
  }
  return bounded_seconds(seconds);
}

std::int64_t spread_units(std::int64_t units, const Device& device) {
  const std::int64_t most = device.rates.units_per_kernel;
  return most > 0 ? std::min(units, most) : units;
}

std::int64_t product_count(const Kernel& kernel) {
  constexpr double most = 1e15;  // far beyond any kernel, far below the end of integers
  const double one = 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                     static_cast<double>(kernel.k);
  if (!(one > 0.0)) return 1;
  return std::max<std::int64_t>(1, std::llround(std::min(kernel.flops.count() / one, most)));
}

Estimate host_copy_cost(const Kernel& kernel, const Device& device) {
  const bool to_device = kernel.kind == TaskKind::copy_host_to_device;
  const Bandwidth link = to_device ? device.rates.host_to_device : device.rates.device_to_host;
  if (link <= Bandwidth{0.0}) {
    refuse(device,
           fmt::format("link for {}", to_string(kernel.kind)),
           to_device ? "host_to_device_gb_per_s" : "device_to_host_gb_per_s");
  }
  const Duration transfer =
      std::min(std::max(kernel.bytes_read, kernel.bytes_written) / link, longest_operation);
  return {.duration = device.rates.copy_latency + transfer,
          .share = 1.0,
          .bandwidth = link,
          .bound = transfer > device.rates.copy_latency ? Bound::memory : Bound::latency};
}

void refuse_unmodelled(const Kernel& kernel, const Operation& operation) {
  if (kernel.kind != TaskKind::collective) return;
  throw InfeasibleError(fmt::format(
      "operation \"{}\" is a collective, which this cost model does not cover\n  give it "
      "a fixed duration and no kernels",
      operation.name));
}

bool has_only_a_duration(const Operation& operation) {
  return operation.kernels.empty() || operation.kind == TaskKind::fixed ||
         operation.kind == TaskKind::host;
}

Estimate fixed_cost(const Operation& operation, const Device& device) {
  Estimate result{
      .duration = operation.fixed_duration, .share = 1.0, .bandwidth = {}, .bound = Bound::fixed};
  const UnitClassId unit_class = device.unit_class_of[static_cast<std::size_t>(operation.kind)];
  const double units = unit_class.valid() ? device.unit_classes[unit_class].count : 0;
  const double most = device.rates.units_per_kernel;
  if (most > 0 && units > most) result.share = most / units;
  if (operation.kernels.size() != 1 || operation.kernels[0].grid.blocks == 0) return result;
  const KernelGrid& grid = operation.kernels[0].grid;
  const double resident = resident_blocks(grid.block, device);
  const double alone =  // blocks on the fullest unit
      units > 0 ? std::min(resident, std::ceil(double{1} * grid.blocks / units)) : resident;
  const double used = grid.compute_share;
  const double per_unit = used * resident > alone ? std::floor(alone / used) : resident;
  result.blocks = grid.blocks;
  result.blocks_per_unit = static_cast<std::uint32_t>(per_unit);
  result.block = grid.block;
  result.compute_share = static_cast<float>(std::min(1.0, used * per_unit / alone));
  if (units > 0) result.share = std::min(1.0, std::ceil(grid.blocks / per_unit) / units);
  return result;
}

std::uint32_t resident_blocks(const BlockShape& block, const Device& device) {
  if (block.threads == 0 || !device.sm_limits.known()) return 1;
  return std::max(1U, occupancy(block, device.sm_limits).blocks);  // 0: the cost table refuses it
}

void set_grid(const KernelGrid& grid, std::uint32_t per_unit, Estimate& estimate) {
  if (grid.blocks == 0) return;
  estimate.blocks = grid.blocks;
  estimate.blocks_per_unit = per_unit;
  estimate.block = grid.block;
}

KernelSum::KernelSum(const Operation& operation, const Device& device, Duration gap)
    : operation_(operation),
      device_(device),
      own_class_(device.unit_class_of[static_cast<std::size_t>(operation.kind)]),
      gap_(gap) {}

void KernelSum::add(const Kernel& kernel, const Estimate& estimate) {
  const bool first = longest_ < Duration{0};
  sum_.blocks = first ? estimate.blocks : 0;
  sum_.blocks_per_unit = first ? estimate.blocks_per_unit : 1;
  sum_.block = first ? estimate.block : BlockShape{};
  if (!first) sum_.duration += gap_;
  sum_.duration += estimate.duration;
  if (sum_.duration >= longest_operation) {
    throw InfeasibleError(
        fmt::format("operation \"{}\" would take {:.0f} days or more on device \"{}\"\n  check the "
                    "shapes of its kernels and the rates of the machine",
                    operation_.name,
                    to_seconds(longest_operation) / 86400,
                    device_.name));
  }
  bytes_ += estimate.bandwidth.count() * to_seconds(estimate.duration);
  compute_seconds_ += static_cast<double>(estimate.compute_share) * to_seconds(estimate.duration);
  if (estimate.duration > longest_) {
    longest_ = estimate.duration;
    sum_.bound = estimate.bound;
  }
  if (device_.unit_class_of[static_cast<std::size_t>(kernel.kind)] == own_class_) {
    share_ = std::max(share_, estimate.share);
  }
}

Estimate KernelSum::total() const {
  Estimate total = sum_;
  total.share = share_ > 0.0 ? share_ : 1.0;
  const double seconds = to_seconds(total.duration);
  total.bandwidth = Bandwidth{seconds > 0.0 ? bytes_ / seconds : 0.0};
  if (seconds > 0.0) {
    total.compute_share = static_cast<float>(std::min(1.0, compute_seconds_ / seconds));
  }
  return total;
}

}  // namespace schedlab
