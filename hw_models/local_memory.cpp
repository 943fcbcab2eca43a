// SPDX-License-Identifier: Apache-2.0
#include "hw_models/local_memory.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

constexpr std::int64_t largest_local_block = 256;  // larger ones need more than 256 KiB

/// What a kernel has of the device: `used` groups of cores.
struct CoreGroups {
  CoreGroup group;
  std::int64_t all = 1;
  std::int64_t used = 1;
  std::int64_t rows = 1;  ///< of the mesh of one group
  std::int64_t columns = 1;
  double bandwidth = 0;  ///< of one group, bytes per second

  [[nodiscard]] double share() const {
    return static_cast<double>(used) / static_cast<double>(all);
  }
};

CoreGroups core_groups_of(const Kernel& kernel, const Device& device) {
  CoreGroups groups{.group = device.rates.core_group};
  if (!groups.group.known()) {
    throw InfeasibleError(
        fmt::format("device \"{}\" has no groups of cores with local memories\n  give "
                    "device/core_group in the machine file, or choose another cost model",
                    device.name));
  }
  const bool matrix = runs_on_matrix_units(kernel.kind);
  groups.all = std::max(1U, matrix ? device.rates.matrix_units : device.rates.vector_units);
  groups.used = spread_units(groups.all, device);
  const std::int64_t cores = groups.group.cores;
  groups.rows = std::llround(std::floor(std::sqrt(static_cast<double>(cores))));
  while (cores % groups.rows != 0) --groups.rows;
  groups.columns = cores / groups.rows;
  groups.bandwidth = reachable_bandwidth(device).count() / static_cast<double>(groups.used);
  if (device.rates.unit_bandwidth > Bandwidth{0.0}) {
    groups.bandwidth = std::min(
        groups.bandwidth, device.rates.unit_bandwidth.count() * device.rates.memory_efficiency);
  }
  return groups;
}

/// One product on one group: what does not depend on the blocks.
class ProductOnGroup {
 public:
  ProductOnGroup(const Kernel& kernel, const Device& device, const CoreGroups& groups)
      : groups_(groups),
        m_(kernel.m),
        n_(kernel.n),
        k_(kernel.k),
        element_(static_cast<double>(bytes_per_element(kernel.type))),
        lanes_(std::max<std::int64_t>(
            1, groups.group.vector.count() / bytes_per_element(kernel.type))),
        core_rate_(peak_rate(kernel, device).count() * groups.group.efficiency /
                   static_cast<double>(groups.all * groups.group.cores)) {
    (m_ >= n_ ? m_ : n_) = ceil_div(std::max(m_, n_), groups.used);
  }

  [[nodiscard]] std::int64_t lanes() const { return lanes_; }
  [[nodiscard]] double input_bytes() const { return element_ * real(m_ * k_ + k_ * n_); }
  void turn() { std::swap(m_, n_); }

  [[nodiscard]] bool fits(const LocalProduct::Block& block) const {
    const double elements = real(block.m * block.n + 4 * (block.m * block.k + block.k * block.n));
    return elements * element_ <= real(groups_.group.local_memory.count());
  }

  [[nodiscard]] LocalProduct with(const LocalProduct::Block& block) const {
    const std::int64_t tile_m = groups_.rows * block.m;
    const std::int64_t tile_n = groups_.columns * block.n;
    const std::int64_t tile_k = groups_.rows * block.k;
    const double tiles_m = real(ceil_div(m_, tile_m));
    const double tiles_n = real(ceil_div(n_, tile_n));
    const double core_m = real(m_ / tile_m * block.m + ceil_div(m_ % tile_m, groups_.rows));
    const double core_n = real(n_ / tile_n * block.n +
                               ceil_div(ceil_div(n_ % tile_n, groups_.columns), lanes_) * lanes_);
    LocalProduct product{.block = block};
    product.compute = 2.0 * core_m * core_n * real(k_) / core_rate_;
    product.load = tiles_n * transfer(m_, k_, block.k) + tiles_m * transfer(k_, n_, block.n);
    product.store = transfer(m_, n_, block.n);
    product.moved_bytes =
        element_ * (tiles_n * real(m_ * k_) + tiles_m * real(k_ * n_) + real(m_ * n_));
    if (groups_.group.rma > Bandwidth{0.0}) {
      const double from_row = real((groups_.columns - 1) * ceil_div(k_, groups_.columns));
      const double from_column = real((groups_.rows - 1) * ceil_div(k_, groups_.rows));
      product.exchange = element_ * (from_row * core_m * tiles_n + from_column * core_n * tiles_m) /
                         groups_.group.rma.count();
    }
    const double latency = to_seconds(groups_.group.dma_latency);
    product.steps = tiles_m * tiles_n * real(ceil_div(k_, tile_k)) * latency;
    product.fill = latency + element_ * real(std::min(k_, tile_k)) *
                                 real(std::min(m_, tile_m) + std::min(n_, tile_n)) /
                                 groups_.bandwidth;
    return product;
  }

 private:
  static double real(std::int64_t value) { return static_cast<double>(value); }

  /// Seconds for a matrix that moves in pieces of so many contiguous elements.
  [[nodiscard]] double transfer(std::int64_t rows, std::int64_t length, std::int64_t piece) const {
    const double half = real(groups_.group.dma_half_row.count());
    return real(rows) * (real(length) * element_ + real(ceil_div(length, piece)) * half) /
           groups_.bandwidth;
  }

  const CoreGroups& groups_;
  std::int64_t m_;
  std::int64_t n_;
  std::int64_t k_;
  double element_;
  std::int64_t lanes_;
  double core_rate_;
};

LocalProduct best_blocks(const ProductOnGroup& product) {
  LocalProduct best{};
  bool found = false;
  for (std::int64_t n = product.lanes(); n <= std::max(largest_local_block, product.lanes());
       n *= 2) {
    for (std::int64_t m = 1; m <= largest_local_block; m *= 2) {
      for (std::int64_t k = 1; k <= largest_local_block; k *= 2) {
        const LocalProduct::Block block{.m = m, .n = n, .k = k};
        if (!product.fits(block)) break;
        const LocalProduct tried = product.with(block);
        if (found && tried.seconds() >= best.seconds()) continue;
        best = tried;
        found = true;
      }
    }
  }
  if (found) return best;
  throw InfeasibleError(
      "the local memory of a core does not hold one vector of a product\n  check local_memory_kib "
      "and vector_bytes of the machine");
}

bool has_product_shape(const Kernel& kernel) {
  constexpr std::int64_t largest_side = std::int64_t{1} << 30;  // products stay within 64 bits
  const auto sensible = [](std::int64_t side) { return side > 0 && side <= largest_side; };
  return runs_on_matrix_units(kernel.kind) && sensible(kernel.m) && sensible(kernel.n) &&
         sensible(kernel.k);
}

Estimate estimate_of(
    double seconds, double compute, double bytes, const CoreGroups& groups, Bound bound) {
  Estimate estimate{.duration = bounded_seconds(seconds),
                    .share = groups.share(),
                    .bandwidth = {},
                    .bound = bound};
  if (seconds <= 0) return estimate;
  estimate.bandwidth = Bandwidth{bytes / seconds};
  estimate.compute_share = static_cast<float>(std::min(1.0, compute / seconds));
  return estimate;
}

Estimate local_product_cost(const Kernel& kernel, const Device& device, bool transposes) {
  const CoreGroups groups = core_groups_of(kernel, device);
  const LocalProduct product = local_product(kernel, device, transposes);
  const auto count = static_cast<double>(product_count(kernel));
  const double floor = to_seconds(device.kernel_floor);
  const double seconds = count * product.seconds();
  const double moving = product.load + product.store + product.fill + product.transpose;
  Bound bound =
      std::max(product.compute, product.exchange) >= moving ? Bound::compute : Bound::memory;
  if (product.steps >= std::max(product.compute, moving) || seconds <= floor) {
    bound = Bound::latency;
  }
  return estimate_of(seconds + floor,
                     count * product.compute,
                     count * product.moved_bytes * static_cast<double>(groups.used),
                     groups,
                     bound);
}

Estimate streamed_cost(const Kernel& kernel, const Device& device) {
  const CoreGroups groups = core_groups_of(kernel, device);
  const double compute =
      kernel.flops > Flops{0.0}
          ? kernel.flops.count() / (peak_rate(kernel, device).count() * groups.share())
          : 0.0;
  const auto bytes = static_cast<double>(traffic(kernel).count());
  const double moving = bytes / (groups.bandwidth * static_cast<double>(groups.used));
  const double start = to_seconds(device.kernel_floor + 2 * groups.group.dma_latency);
  Bound bound = compute > moving ? Bound::compute : Bound::memory;
  if (std::max(compute, moving) <= start) bound = Bound::latency;
  return estimate_of(std::max(compute, moving) + start, compute, bytes, groups, bound);
}

}  // namespace

double LocalProduct::seconds() const {
  return transpose + fill + std::max({compute, load, exchange, steps}) + store;
}

LocalProduct local_product(const Kernel& kernel, const Device& device, bool transposes) {
  SCHEDLAB_EXPECTS(has_product_shape(kernel),
                   fmt::format("product {} x {} x {}", kernel.m, kernel.n, kernel.k));
  const CoreGroups groups = core_groups_of(kernel, device);
  ProductOnGroup product{kernel, device, groups};
  LocalProduct best = best_blocks(product);
  product.turn();
  if (LocalProduct other = best_blocks(product); other.seconds() < best.seconds()) {
    best = other;
    best.turned = true;
  }
  if (transposes && kernel.kind == TaskKind::gemm) {
    best.transpose = 2 * product.input_bytes() / groups.bandwidth;
    best.moved_bytes += 2 * product.input_bytes();
  }
  return best;
}

Estimate LocalMemory::estimate(const Operation& operation, const Device& device) const {
  if (has_only_a_duration(operation)) return fixed_cost(operation, device);
  KernelSum sum{operation, device, Duration{0}};
  for (const Kernel& kernel : operation.kernels) {
    refuse_unmodelled(kernel, operation);
    if (is_host_copy(kernel.kind)) {
      sum.add(kernel, host_copy_cost(kernel, device));
    } else if (has_product_shape(kernel)) {
      sum.add(kernel, local_product_cost(kernel, device, transposes_));
    } else {
      sum.add(kernel, streamed_cost(kernel, device));
    }
  }
  return sum.total();
}

}  // namespace schedlab
