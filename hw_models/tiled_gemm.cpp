// SPDX-License-Identifier: Apache-2.0
#include "hw_models/tiled_gemm.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace schedlab {
namespace {

// Larger sides are costed by their FLOPs alone: the number of tiles must stay an exact integer.
constexpr std::int64_t largest_side = std::int64_t{1} << 28;
constexpr double partial_sum_bytes = 4;  // split-k adds in fp32, whatever the inputs

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::uint32_t block_count(std::int64_t blocks) {
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(blocks, std::numeric_limits<std::uint32_t>::max()));
}

/// Seconds that one unit needs to move so many bytes, if there is a limit.
double unit_seconds(double bytes, const Device& device) {
  const double limit = device.rates.unit_bandwidth.count();
  return limit > 0.0 ? bytes / limit : 0.0;
}

double best_efficiency(const Device& device) {
  double best = 0.0;
  for (const GemmTile& tile : device.rates.gemm_tiles) best = std::max(best, tile.efficiency);
  return best > 0.0 ? best : 1.0;
}

TileChoice evaluate(const Kernel& kernel,
                    const Device& device,
                    const GemmTile& tile,
                    std::int64_t split) {
  const std::int64_t units = device.rates.matrix_units;
  TileChoice choice;
  choice.tile = tile;
  choice.split_k = split;
  choice.tiles = ceil_div(kernel.m, tile.m) * ceil_div(kernel.n, tile.n) * split;
  choice.waves = ceil_div(choice.tiles, units);
  choice.busy_units = std::min(choice.tiles, units);

  const auto m = static_cast<double>(tile.m);
  const auto n = static_cast<double>(tile.n);
  const auto k = static_cast<double>(ceil_div(kernel.k, split));
  const auto element = static_cast<double>(bytes_per_element(kernel.type));
  const FlopRate unit_peak = peak_rate(kernel, device) * (1.0 / static_cast<double>(units));
  const double tile_seconds = std::max(2.0 * m * n * k / (unit_peak * tile.efficiency).count(),
                                       unit_seconds(((m + n) * k + m * n) * element, device));
  // Whole waves of a rounded tile: exact multiples, so that the tail effect is to the picosecond.
  const Duration one = bounded_seconds(tile_seconds);
  const bool too_long = one.count() > 0 && choice.waves > longest_operation / one;
  choice.compute = too_long ? longest_operation : one * choice.waves;

  auto bytes = static_cast<double>(traffic(kernel).count());
  if (split > 1) {
    bytes += 2.0 * partial_sum_bytes * static_cast<double>(split) * static_cast<double>(kernel.m) *
             static_cast<double>(kernel.n);
  }
  choice.memory = bounded_seconds(bytes / reachable_bandwidth(device).count());
  choice.duration =
      device.kernel_floor * (split > 1 ? 2 : 1) + std::max(choice.compute, choice.memory);
  return choice;
}

Estimate to_estimate(
    const Kernel& kernel, const Device& device, Duration compute, Duration memory, double share) {
  const Duration work = std::min(std::max(compute, memory), longest_operation);
  Estimate result{.duration = device.kernel_floor + work,
                  .share = share,
                  .bandwidth = {},
                  .bound = compute > memory ? Bound::compute : Bound::memory};
  if (work <= device.kernel_floor) result.bound = Bound::latency;
  const double seconds = to_seconds(result.duration);
  if (seconds > 0.0) {
    result.bandwidth = Bandwidth{static_cast<double>(traffic(kernel).count()) / seconds};
  }
  return result;
}

Duration memory_time(const Kernel& kernel, const Device& device) {
  const Bytes bytes = traffic(kernel);
  return bytes == Bytes{0} ? Duration{0} : bytes / reachable_bandwidth(device);
}

/// A matrix kernel that fills the device, whatever its shape.
Estimate filling_cost(const Kernel& kernel, const Device& device) {
  const Duration compute =
      kernel.flops > Flops{0.0}
          ? kernel.flops / (peak_rate(kernel, device) * best_efficiency(device))
          : Duration{0};
  return to_estimate(kernel, device, compute, memory_time(kernel, device), 1.0);
}

Estimate gemm_cost(const Kernel& kernel, const Device& device, std::int64_t max_split) {
  const auto sensible = [](std::int64_t side) { return side > 0 && side <= largest_side; };
  const bool has_shape = sensible(kernel.m) && sensible(kernel.n) && sensible(kernel.k);
  if (!has_shape || device.rates.matrix_units == 0 || device.rates.gemm_tiles.empty()) {
    return filling_cost(kernel, device);
  }
  const TileChoice choice = choose_tile(kernel, device, max_split);
  const double share =
      static_cast<double>(choice.busy_units) / static_cast<double>(device.rates.matrix_units);
  Estimate result = to_estimate(kernel, device, choice.compute, choice.memory, share);
  result.duration = choice.duration;  // with the second kernel of split-k
  result.blocks = block_count(choice.tiles);
  return result;
}

Estimate pointwise_cost(const Kernel& kernel, const Device& device) {
  const std::int64_t units = device.rates.vector_units;
  const std::int64_t filling = device.rates.pointwise_bytes_per_unit.count();
  const std::int64_t bytes = traffic(kernel).count();
  std::int64_t busy = units;
  std::int64_t blocks = 0;
  double fullest = 1.0 / static_cast<double>(std::max<std::int64_t>(units, 1));  // of the work
  if (units > 0 && filling > 0 && bytes > 0) {
    blocks = ceil_div(bytes, filling);
    busy = std::min(blocks, units);
    const double filled = static_cast<double>(filling) / static_cast<double>(bytes);
    fullest = std::max(fullest, std::min(1.0, filled));
  }
  const double share = units > 0 ? static_cast<double>(busy) / static_cast<double>(units) : 1.0;
  Duration compute{0};
  if (kernel.flops > Flops{0.0}) {
    const double unit_peak =
        peak_rate(kernel, device).count() / static_cast<double>(std::max<std::int64_t>(units, 1));
    compute = bounded_seconds(kernel.flops.count() * fullest / unit_peak);
  }
  const Duration one_unit =
      bounded_seconds(unit_seconds(static_cast<double>(bytes) * fullest, device));
  Estimate result =
      to_estimate(kernel, device, compute, std::max(memory_time(kernel, device), one_unit), share);
  result.blocks = block_count(blocks);
  return result;
}

}  // namespace

TileChoice choose_tile(const Kernel& kernel, const Device& device, std::int64_t max_split) {
  SCHEDLAB_EXPECTS(
      kernel.m > 0 && kernel.n > 0 && kernel.k > 0 && max_split >= 1 &&
          device.rates.matrix_units > 0 && !device.rates.gemm_tiles.empty(),
      fmt::format("gemm {} x {} x {} on device \"{}\"", kernel.m, kernel.n, kernel.k, device.name));
  TileChoice best;
  best.duration = Duration::max();
  for (const GemmTile& listed : device.rates.gemm_tiles) {
    const GemmTile turned{.m = listed.n, .n = listed.m, .efficiency = listed.efficiency};
    for (const GemmTile& tile : {listed, turned}) {
      for (std::int64_t split = 1; split <= std::min(max_split, kernel.k); split *= 2) {
        const TileChoice choice = evaluate(kernel, device, tile, split);
        if (std::tie(choice.duration, choice.busy_units) <
            std::tie(best.duration, best.busy_units)) {
          best = choice;
        }
      }
    }
  }
  return best;
}

Estimate TiledGemm::estimate(const Operation& operation, const Device& device) const {
  if (has_only_a_duration(operation)) return fixed_cost(operation);
  KernelSum sum{operation, device, device.stream_gap};
  for (const Kernel& kernel : operation.kernels) {
    refuse_unmodelled(kernel, operation);
    if (is_host_copy(kernel.kind)) {
      sum.add(kernel, host_copy_cost(kernel, device));
    } else if (kernel.kind == TaskKind::gemm) {
      sum.add(kernel, gemm_cost(kernel, device, max_split_));
    } else if (kernel.kind == TaskKind::convolution) {
      sum.add(kernel, filling_cost(kernel, device));
    } else {
      sum.add(kernel, pointwise_cost(kernel, device));
    }
  }
  return sum.total();
}

}  // namespace schedlab
