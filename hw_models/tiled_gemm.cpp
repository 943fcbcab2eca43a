// SPDX-License-Identifier: Apache-2.0
#include "hw_models/tiled_gemm.hpp"

#include "hw_models/attention.hpp"
#include "hw_models/kernel_cost.hpp"
#include "hw_models/recurrent_step.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/cache_reuse.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

// Larger sides are costed by their FLOPs alone: the number of tiles must stay an exact integer.
constexpr std::int64_t largest_side = std::int64_t{1} << 28;
constexpr std::int64_t narrow_tile_length = 128;
constexpr double partial_sum_bytes = 4;  // split-k adds in fp32, whatever the inputs

/// Both at least 1; at most 2^62.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  return a > most / b ? most : a * b;
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

/// True if partial sums of so many bytes go through the last-level cache only.
bool stay_in_cache(double bytes, const Device& device) {
  return device.rates.l2_bandwidth > Bandwidth{0.0} &&
         bytes <= cache_share_for_data * static_cast<double>(device.rates.l2.count());
}

/// The fitted library that runs such a kernel, if the machine knows one.
const MatrixLibrary* library_for(const Kernel& kernel,
                                 const Device& device,
                                 const GemmOptions& options) {
  if (kernel.kind != TaskKind::gemm || options.library == LibraryUse::none ||
      device.profile == nullptr) {
    return nullptr;
  }
  for (const MatrixLibrary& library : device.profile->libraries) {
    const auto& types = library.types;
    if (std::find(types.begin(), types.end(), kernel.type) != types.end()) return &library;
  }
  return nullptr;
}

/// The tiles that the device lists for such a kernel.
const std::vector<GemmTile>& tiles_for(const Kernel& kernel, const Device& device) {
  const bool own = kernel.kind == TaskKind::convolution && !device.rates.conv_tiles.empty();
  return own ? device.rates.conv_tiles : device.rates.gemm_tiles;
}

/// Convolution libraries split k for weight gradients only.
std::int64_t largest_split(const Kernel& kernel,
                           const Operation& operation,
                           const Device& device,
                           std::int64_t max_split) {
  const bool own = kernel.kind == TaskKind::convolution && !device.rates.conv_tiles.empty();
  return own && operation.task_class != TaskClass::weight_gradient ? 1 : max_split;
}

double library_share(const MatrixLibrary& library, const Kernel& kernel, GemmLayout layout) {
  const bool strided =
      layout == GemmLayout::tn && !std::has_single_bit(static_cast<std::uint64_t>(kernel.k));
  return library.memory_share * (strided ? library.strided_share : 1.0);
}

/// What all tiles of a kernel on a device have in common.
struct TiledKernel {
  TiledKernel(const Kernel& the_kernel, const Device& the_device, const GemmOptions& options)
      : kernel(the_kernel),
        device(the_device),
        library(library_for(the_kernel, the_device, options)),
        layout(library == nullptr ? 1.0
                                  : library->layout[static_cast<std::size_t>(options.layout)]),
        memory_share(library == nullptr ? 1.0
                                        : library_share(*library, the_kernel, options.layout)),
        spread(spread_units(device.rates.matrix_units, device)),
        products(product_count(kernel)),
        element(static_cast<double>(bytes_per_element(kernel.type))),
        unit_peak(peak_rate(kernel, device) *
                  (1.0 / static_cast<double>(device.rates.matrix_units))),
        results(static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                static_cast<double>(products)),
        memory(memory_with(0.0)) {}

  /// With so many bytes on top.
  [[nodiscard]] Duration memory_with(double bytes) const {
    return memory_time(kernel, device, bytes, memory_share);
  }

  const Kernel& kernel;
  const Device& device;
  const MatrixLibrary* library;  ///< whose tiles they are; null: the device's
  double layout;                 ///< factor on the tiles' efficiencies
  double memory_share;           ///< of the reachable bandwidth
  std::int64_t spread;           ///< units it may spread over
  std::int64_t products;         ///< side by side
  double element;                ///< bytes
  FlopRate unit_peak;
  double results;   ///< elements
  Duration memory;  ///< without partial sums
};

/// Whole multiples of a rounded time, so that the tail effect is to the picosecond.
Duration repeated(Duration one, std::int64_t times) {
  const bool too_long = one.count() > 0 && times > longest_operation / one;
  return too_long ? longest_operation : one * times;
}

/// What k split into parts costs, whatever the tile.
struct SplitCost {
  std::int64_t parts = 1;
  Duration memory;
  Duration second_kernel{0};
};

SplitCost split_cost(const TiledKernel& common, std::int64_t split) {
  if (split == 1) return {.memory = common.memory};
  const Device& device = common.device;
  const double sums = partial_sum_bytes * static_cast<double>(split) * common.results;
  const bool cached = stay_in_cache(sums, device);
  const Bandwidth rate = cached ? device.rates.l2_bandwidth : reachable_bandwidth(device);
  SplitCost cost{.parts = split,
                 .memory = cached ? common.memory : common.memory_with(sums),
                 .second_kernel = device.stream_gap + device.kernel_floor +
                                  bounded_seconds(sums / rate.count())};
  if (common.library != nullptr) cost.second_kernel += common.library->split;
  return cost;
}

/// `resident`: blocks of a library's tile on one unit.
TileChoice evaluate(const TiledKernel& common,
                    const GemmTile& tile,
                    std::int64_t resident,
                    const SplitCost& split_by) {
  const Kernel& kernel = common.kernel;
  const Device& device = common.device;
  const std::int64_t split = split_by.parts;
  TileChoice choice;
  choice.tile = tile;
  choice.split_k = split;
  choice.tiles = saturating_product(ceil_div(kernel.m, tile.m) * ceil_div(kernel.n, tile.n),
                                    saturating_product(split, common.products));
  choice.waves = ceil_div(choice.tiles, common.spread);
  choice.busy_units = std::min(choice.tiles, common.spread);

  const auto m = static_cast<double>(tile.m);
  const auto n = static_cast<double>(tile.n);
  const auto k = static_cast<double>(ceil_div(kernel.k, split));
  const double tile_seconds =
      std::max(2.0 * m * n * k / (common.unit_peak * (tile.efficiency * common.layout)).count(),
               unit_seconds(((m + n) * k + m * n) * common.element, device));
  choice.arithmetic = repeated(bounded_seconds(tile_seconds), choice.waves);
  choice.compute = choice.arithmetic;
  if (common.library != nullptr) {
    const Duration latency =
        bounded_seconds(k * to_seconds(common.library->tile_step));  // of a tile, alone on its unit
    choice.compute = std::max(choice.compute, repeated(latency, ceil_div(choice.waves, resident)));
  }

  choice.memory = split_by.memory;
  choice.duration =
      device.kernel_floor + std::max(choice.compute, choice.memory) + split_by.second_kernel;
  if (common.library != nullptr) choice.duration += common.library->call;
  return choice;
}

/// The same by a library of pipelined kernels.
TileChoice pipelined_choice(const TiledKernel& common, const GemmOptions& options) {
  const MatrixLibrary& library = *common.library;
  const PipelinedDevice device = pipelined_device(common.device, common.kernel.type, common.spread);
  const ProductShape shape =
      product_shape(common.kernel, *library.pipelined, device, options.operands);
  const PipelinedChoice best =
      choose_pipelined(*library.pipelined, library.tiles, shape, device, options.max_split);
  TileChoice choice;
  choice.tile = library.tiles[best.tile];
  if (best.turned) std::swap(choice.tile.m, choice.tile.n);
  choice.split_k = best.split;
  choice.tiles = static_cast<std::int64_t>(
      std::min(best.time.tiles, static_cast<double>(std::int64_t{1} << 62)));
  choice.waves = ceil_div(choice.tiles, common.spread);
  choice.busy_units = std::min(choice.tiles, common.spread);
  choice.compute = bounded_seconds(best.time.compute_us * 1e-6);
  choice.arithmetic = bounded_seconds(best.time.arithmetic_us * 1e-6);
  choice.memory = bounded_seconds(best.time.memory_us * 1e-6);
  double us = best.time.us;
  if (options.products == ProductTimes::measured) {
    us *= residual_factor(library.pipelined->residuals, residual_place(shape, best, device));
  }
  choice.duration = bounded_seconds(us * 1e-6);
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
    result.compute_share = static_cast<float>(std::min(1.0, to_seconds(compute) / seconds));
    result.bandwidth = Bandwidth{static_cast<double>(memory_traffic(kernel).count()) / seconds};
  }
  return result;
}

/// A kernel that says how many blocks it has: its work is spread evenly over them, and the fullest
/// unit decides.
Estimate given_grid_cost(const Kernel& kernel, const Device& device) {
  const bool matrix = runs_on_matrix_units(kernel.kind);
  const std::int64_t units =
      std::max(1U, matrix ? device.rates.matrix_units : device.rates.vector_units);
  const std::int64_t spread = spread_units(units, device);
  const std::int64_t blocks = kernel.grid.blocks;
  const double fullest =
      static_cast<double>(ceil_div(blocks, spread)) / static_cast<double>(blocks);  // of the work
  Duration compute{0};
  if (kernel.flops > Flops{0.0}) {
    const double unit_peak = peak_rate(kernel, device).count() / static_cast<double>(units) *
                             (matrix ? best_efficiency(device) : 1.0);
    compute = bounded_seconds(kernel.flops.count() * fullest / unit_peak);
  }
  const auto bytes = static_cast<double>(traffic(kernel).count());
  const Duration one_unit = bounded_seconds(unit_seconds(bytes * fullest, device));
  const double share = static_cast<double>(std::min(blocks, spread)) / static_cast<double>(units);
  Estimate result =
      to_estimate(kernel, device, compute, std::max(memory_time(kernel, device), one_unit), share);
  set_grid(kernel.grid, matrix ? 1 : resident_blocks(kernel.grid.block, device), result);
  return result;
}

/// A matrix kernel that fills all units it may use, whatever its shape.
Estimate filling_cost(const Kernel& kernel, const Device& device) {
  const std::int64_t units = std::max<std::int64_t>(1, device.rates.matrix_units);
  const std::int64_t spread = spread_units(units, device);
  const double share = static_cast<double>(spread) / static_cast<double>(units);
  const Duration compute =
      kernel.flops > Flops{0.0}
          ? kernel.flops / (peak_rate(kernel, device) * (share * best_efficiency(device)))
          : Duration{0};
  const Duration moved = bounded_seconds(unit_seconds(
      static_cast<double>(traffic(kernel).count()) / static_cast<double>(spread), device));
  const Duration memory =
      std::max(memory_time(kernel, device), spread < units ? moved : Duration{0});
  return to_estimate(kernel, device, compute, memory, share);
}

/// What a kernel uses of its units and of the memory while it runs, of all its duration.
void set_throughput(const Kernel& kernel, Duration arithmetic, Estimate& estimate) {
  const double seconds = to_seconds(estimate.duration);
  if (seconds <= 0.0) return;
  estimate.compute_share = static_cast<float>(std::min(1.0, to_seconds(arithmetic) / seconds));
  estimate.bandwidth = Bandwidth{static_cast<double>(memory_traffic(kernel).count()) / seconds};
}

/// What a library's recurrent layer takes instead of the product; unchanged where none is known.
void apply_recurrent_layer(const Kernel& kernel,
                           const Device& device,
                           const GemmOptions& options,
                           bool weight_gradient,
                           Estimate& estimate) {
  const MatrixLibrary* const library = library_for(kernel, device, options);
  if (library == nullptr || !library->recurrent) return;
  const LibraryTime time =
      weight_gradient
          ? recurrent_weight_gradient(kernel, device, *library)
          : recurrent_step(
                kernel, device, *library, options.library == LibraryUse::recurrent_forward);
  estimate.duration = time.duration;
  set_throughput(kernel, time.arithmetic, estimate);
  estimate.bound = Bound::latency;
}

Estimate gemm_cost(const Kernel& kernel,
                   const Device& device,
                   const GemmOptions& options,
                   bool weight_gradient) {
  const auto sensible = [](std::int64_t side) { return side > 0 && side <= largest_side; };
  const bool has_shape = sensible(kernel.m) && sensible(kernel.n) && sensible(kernel.k);
  if (!has_shape || device.rates.matrix_units == 0 || tiles_for(kernel, device).empty()) {
    return filling_cost(kernel, device);
  }
  const TileChoice choice = choose_tile(kernel, device, options);
  const double share =
      static_cast<double>(choice.busy_units) / static_cast<double>(device.rates.matrix_units);
  Estimate result = to_estimate(kernel, device, choice.compute, choice.memory, share);
  result.duration = choice.duration;  // with the second kernel of split-k
  result.blocks = block_count(choice.tiles);
  result.block = choice.tile.block;
  if (library_for(kernel, device, options) != nullptr) {
    set_throughput(kernel, choice.arithmetic, result);
  }
  if (options.library == LibraryUse::recurrent_forward ||
      options.library == LibraryUse::recurrent_data_gradient) {
    apply_recurrent_layer(kernel, device, options, weight_gradient, result);
  }
  return result;
}

/// How the work of a point-wise kernel lies on the units of its class.
struct Spreading {
  std::int64_t busy = 0;    ///< units that have work
  std::int64_t blocks = 0;  ///< units' worth of work; 0 = as many as there are busy units
  double fullest = 1.0;     ///< share of the work on the unit that has most
};

Spreading spread_by_bytes(const Kernel& kernel, const Device& device) {
  const std::int64_t spread = spread_units(device.rates.vector_units, device);
  const std::int64_t filling = device.rates.pointwise_bytes_per_unit.count();
  const std::int64_t bytes = traffic(kernel).count();
  Spreading result{.busy = spread,
                   .fullest = 1.0 / static_cast<double>(std::max<std::int64_t>(spread, 1))};
  if (spread > 0 && filling > 0 && bytes > 0) {
    result.blocks = ceil_div(bytes, filling);
    result.busy = std::min(result.blocks, spread);
    const double filled = static_cast<double>(filling) / static_cast<double>(bytes);
    result.fullest = std::max(result.fullest, std::min(1.0, filled));
  }
  return result;
}

Estimate spread_cost(const Kernel& kernel, const Device& device, const Spreading& spreading) {
  const std::int64_t units = device.rates.vector_units;
  const double share =
      units > 0 ? static_cast<double>(spreading.busy) / static_cast<double>(units) : 1.0;
  Duration compute{0};
  if (kernel.flops > Flops{0.0}) {
    const double unit_peak =
        peak_rate(kernel, device).count() / static_cast<double>(std::max<std::int64_t>(units, 1));
    compute = bounded_seconds(kernel.flops.count() * spreading.fullest / unit_peak);
  }
  const auto bytes = static_cast<double>(traffic(kernel).count());
  const Duration one_unit = bounded_seconds(unit_seconds(bytes * spreading.fullest, device));
  Estimate result =
      to_estimate(kernel, device, compute, std::max(memory_time(kernel, device), one_unit), share);
  result.blocks = block_count(spreading.blocks);
  return result;
}

Estimate pointwise_cost(const Kernel& kernel, const Device& device) {
  return spread_cost(kernel, device, spread_by_bytes(kernel, device));
}

Estimate reduction_cost(const Kernel& kernel, const Device& device) {
  const Spreading by_bytes = spread_by_bytes(kernel, device);
  Estimate cut_up = spread_cost(kernel, device, by_bytes);
  if (kernel.m <= 0 || kernel.m >= by_bytes.busy) return cut_up;  // every busy unit has whole rows
  // Fewer rows than units: a row to a unit, or rows cut up and a second kernel.
  cut_up.duration += device.stream_gap + device.kernel_floor;
  const Spreading by_rows{
      .busy = kernel.m, .blocks = kernel.m, .fullest = 1.0 / static_cast<double>(kernel.m)};
  const Estimate whole_rows = spread_cost(kernel, device, by_rows);
  return whole_rows.duration <= cut_up.duration ? whole_rows : cut_up;
}

}  // namespace

TileChoice choose_tile(const Kernel& kernel, const Device& device, const GemmOptions& options) {
  SCHEDLAB_EXPECTS(
      kernel.m > 0 && kernel.n > 0 && kernel.k > 0 && options.max_split >= 1 &&
          device.rates.matrix_units > 0 && !tiles_for(kernel, device).empty(),
      fmt::format("gemm {} x {} x {} on device \"{}\"", kernel.m, kernel.n, kernel.k, device.name));
  const TiledKernel common{kernel, device, options};
  const MatrixLibrary* const library = common.library;
  if (library != nullptr && library->pipelined) return pipelined_choice(common, options);
  const std::int64_t max_split =
      library == nullptr ? options.max_split : std::min(options.max_split, library->max_split);
  std::vector<SplitCost> splits;
  for (std::int64_t split = 1; split <= std::min(max_split, kernel.k); split *= 2) {
    splits.push_back(split_cost(common, split));
  }
  TileChoice best;
  best.duration = Duration::max();
  const auto try_tile = [&](const GemmTile& tile) {
    const std::int64_t resident = library != nullptr ? resident_blocks(tile.block, device) : 1;
    for (const SplitCost& split : splits) {
      const TileChoice choice = evaluate(common, tile, resident, split);
      if (std::tie(choice.duration, choice.busy_units) < std::tie(best.duration, best.busy_units)) {
        best = choice;
      }
    }
  };
  const auto try_both_ways = [&](const GemmTile& listed) {
    try_tile(listed);
    if (listed.m == listed.n) return;
    GemmTile turned = listed;
    std::swap(turned.m, turned.n);
    try_tile(turned);
  };
  if (library != nullptr && std::min(kernel.m, kernel.n) <= library->narrow_side) {
    try_both_ways({.m = narrow_tile_length,
                   .n = library->narrow_side,
                   .efficiency = library->narrow_efficiency});
    return best;
  }
  for (const GemmTile& tile : library != nullptr ? library->tiles : tiles_for(kernel, device)) {
    try_both_ways(tile);
  }
  return best;
}

Estimate TiledGemm::estimate(const Operation& operation, const Device& device) const {
  if (has_only_a_duration(operation)) return fixed_cost(operation, device);
  KernelSum sum{operation, device, device.stream_gap};
  for (const Kernel& kernel : operation.kernels) {
    refuse_unmodelled(kernel, operation);
    if (options_.library != LibraryUse::none && attention_is_fitted(kernel, device)) {
      sum.add(kernel, attention_cost(kernel, device));
    } else if (is_host_copy(kernel.kind)) {
      sum.add(kernel, host_copy_cost(kernel, device));
    } else if (kernel.grid.blocks != 0) {
      sum.add(kernel, given_grid_cost(kernel, device));
    } else if (runs_on_matrix_units(kernel.kind)) {
      GemmOptions options = options_;
      options.max_split = largest_split(kernel, operation, device, options_.max_split);
      const bool weight_gradient = operation.task_class == TaskClass::weight_gradient;
      sum.add(kernel, gemm_cost(kernel, device, options, weight_gradient));
    } else if (kernel.kind == TaskKind::reduction) {
      sum.add(kernel, reduction_cost(kernel, device));
    } else {
      sum.add(kernel, pointwise_cost(kernel, device));
    }
  }
  return sum.total();
}

}  // namespace schedlab
