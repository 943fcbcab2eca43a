// SPDX-License-Identifier: Apache-2.0
#include "hw_models/pipelined_product.hpp"

#include "hw_models/kernel_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace schedlab {
namespace {

using P = ProductParameter;

constexpr double step_bytes = 128;           // of k: one line of shared memory, as kernels load it
constexpr double resident_area = 128 * 128;  // elements of the results that a unit keeps // assumed
constexpr double most_residents = 4;         // assumed
constexpr double weights_in_turn = 6;        // aiconfigurator, collect_gemm.py: outside_loop_count
constexpr double most_waves = 4;             // with more of them k is not split // assumed
constexpr double padded_rows = 64;           // rows of a common tile
constexpr double sum_bytes = 4;              // split-k adds in fp32
constexpr double per_gb_per_s = 1e3;         // bytes per us

constexpr std::array<ParameterInfo, product_parameter_count> infos{{
    {"floor_us", 0.05, 50, 2, "shortest time from product to product in a captured graph"},
    {"tile_us", 0.01, 50, 1, "fill and drain of a tile's pipeline"},
    {"fill_steps", 1, 64, 4, "steps of k that fill it; of fewer it takes the share"},
    {"step_ns", 0.5, 5000, 60, "shortest time of a step of k, however idle the unit is"},
    {"memory_share", 0.05, 1, 0.85, "share of the nominal memory bandwidth that products reach"},
    {"memory_latency_us", 0.01, 50, 0.8, "from the first load to the first data"},
    {"unit_gb_per_s", 1, 1e5, 60, "what one unit loads"},
    {"cache_gb_per_s", 100, 1e6, 8000, "what all units load from the last-level cache"},
    {"cache_use", 0.1, 100, 2, "bytes used between two uses, over those that displace"},
    {"split_us", 0.01, 100, 2, "second kernel of split-k"},
    {"split_gb_per_s", 10, 1e6, 2000, "fp32 sums of split-k"},
    {"epilogue_gb_per_s", 0.5, 1e5, 30, "what one unit writes of its results"},
    {"epilogue_overlap",
     0.001,
     1,
     0.3,
     "share of fill, drain and results behind the next tile's work"},
    {"wave_quantization", 0.001, 1, 0.5, "1: whole waves; 0: the last wave is divided (stream-k)"},
    {"overlap", 1, 20, 3, "exponent that joins arithmetic and traffic; large: full overlap"},
    {"sustained_loss", 0.0001, 1, 0.03, "loss of clock rate per e-fold of a long product"},
    {"sustained_us", 1, 1e6, 300, "arithmetic after which the clock rate falls"},
}};

/// How much of data is no longer cached after so many bytes of use.
double missing_share(double bytes, double use, double cache) {
  if (cache <= 0) return 1.0;
  const double pressure = bytes * use / cache;
  const double fourth = pressure * pressure * pressure * pressure;
  return fourth / (1.0 + fourth);
}

/// std::ceil of a number from 0 to 2^62, without a call: a product has a hundred candidates.
double whole(double value) {
  const auto floor = static_cast<double>(static_cast<std::int64_t>(value));
  return floor < value ? floor + 1.0 : floor;
}

double waves_of(double tiles, double places, double quantization) {
  const double filled = tiles / places;
  return quantization * whole(filled) + (1.0 - quantization) * std::max(1.0, filled);
}

/// Of one tile and split, before compute, memory and cache are joined.
struct Parts {
  PipelinedTime time;
  double cache_us = 0;
  double waves_us = 0;  ///< arithmetic and loads of all waves
  double fixed_us = 0;  ///< floor, and the second kernel of split-k

  /// Never above the product's time.
  [[nodiscard]] double least_us() const {
    return fixed_us + std::max({time.compute_us, time.memory_us, cache_us});
  }
};

Parts parts_of(const PipelinedProducts& library,
               const ProductCut& cut,
               const ProductShape& shape,
               const PipelinedDevice& device) {
  const auto [tile_m, tile_n, efficiency, split] = cut;
  const double quantization = library[P::wave_quantization];
  const double step = step_bytes / device.element_bytes;
  const double steps = whole(shape.k / split / step);
  Parts parts;
  PipelinedTime& time = parts.time;
  time.tiles = whole(shape.m / tile_m) * whole(shape.n / tile_n) * split * shape.products;
  const double waves = waves_of(time.tiles, device.units, quantization);
  const double arithmetic = 2.0 * tile_m * tile_n * steps * step / device.unit_flop;
  const double loaded = (tile_m + tile_n) * steps * step_bytes;
  parts.waves_us = waves * std::max(arithmetic / efficiency,
                                    loaded / (library[P::unit_gb_per_s] * per_gb_per_s));
  const double residents =
      std::clamp(std::floor(resident_area / (tile_m * tile_n)), 1.0, most_residents);
  const double rounds = waves_of(time.tiles, device.units * residents, quantization);
  const double written =
      tile_m * tile_n * device.element_bytes * std::min(residents, time.tiles / device.units);
  const double ends = library[P::tile_us] * std::min(1.0, steps / library[P::fill_steps]) +
                      written / (library[P::epilogue_gb_per_s] * per_gb_per_s);
  time.compute_us = std::max(parts.waves_us, rounds * steps * library[P::step_ns] * 1e-3) +
                    (1.0 + (rounds - 1.0) * (1.0 - library[P::epilogue_overlap])) * ends;
  time.memory_us =
      library[P::memory_latency_us] + (shape.a_bytes + shape.b_bytes + shape.c_bytes) /
                                          (device.memory_byte * library[P::memory_share]);
  time.arithmetic_us = arithmetic * time.tiles / device.units;
  parts.cache_us = time.tiles * loaded / (library[P::cache_gb_per_s] * per_gb_per_s);
  parts.fixed_us = library[P::floor_us];
  if (split > 1) {
    parts.fixed_us += library[P::split_us] + sum_bytes * split * shape.m * shape.n *
                                                 shape.products /
                                                 (library[P::split_gb_per_s] * per_gb_per_s);
  }
  return parts;
}

PipelinedTime joined(const PipelinedProducts& library, const Parts& parts) {
  PipelinedTime time = parts.time;
  const double power = library[P::overlap];
  const double most = std::max({time.compute_us, time.memory_us, parts.cache_us});
  const double core = most * std::pow(std::pow(time.compute_us / most, power) +
                                          std::pow(time.memory_us / most, power) +
                                          std::pow(parts.cache_us / most, power),
                                      1.0 / power);
  const double clocks =
      1.0 + library[P::sustained_loss] * std::log1p(parts.waves_us / library[P::sustained_us]);
  time.us = parts.fixed_us + core * clocks;
  return time;
}

}  // namespace

std::span<const ParameterInfo> product_parameters() {
  return infos;
}

PipelinedDevice pipelined_device(const Device& device, DataType type, std::int64_t units) {
  Kernel product;
  product.kind = TaskKind::gemm;
  product.type = type;
  const double peak = peak_rate(product, device).count();
  return {.units = static_cast<double>(std::max<std::int64_t>(1, units)),
          .unit_flop = peak * 1e-6 / std::max(1U, device.rates.matrix_units),
          .memory_byte = device.rates.memory.count() * 1e-6,
          .cache_bytes = static_cast<double>(device.rates.l2.count()),
          .element_bytes = static_cast<double>(bytes_per_element(type))};
}

ProductShape product_shape(const Kernel& kernel,
                           const PipelinedProducts& library,
                           const PipelinedDevice& device,
                           OperandReading reading) {
  ProductShape shape{.m = static_cast<double>(kernel.m),
                     .n = static_cast<double>(kernel.n),
                     .k = static_cast<double>(kernel.k),
                     .products = static_cast<double>(product_count(kernel))};
  const double bytes = device.element_bytes * shape.products;
  const double a = shape.m * shape.k * bytes;
  const double b = shape.k * shape.n * bytes;
  const auto read = static_cast<double>(kernel.bytes_read.count());
  const double c = static_cast<double>(kernel.bytes_written.count()) + std::max(0.0, read - a - b);
  double a_missing = 1.0;
  double b_missing = 1.0;
  if (reading != OperandReading::cold) {
    const double turns = reading == OperandReading::as_measured ? weights_in_turn : 1.0;
    const double use = library[P::cache_use];
    a_missing = missing_share(a + b + c, use, device.cache_bytes);
    b_missing = missing_share(a + turns * b + c, use, device.cache_bytes);
  }
  const double known =
      read > 0 ? 1.0 - static_cast<double>(kernel.bytes_cached.count()) / read : 1.0;
  shape.a_bytes = a * std::min(a_missing, known);
  shape.b_bytes = b * std::min(b_missing, known);
  shape.c_bytes = c * a_missing;
  return shape;
}

PipelinedTime pipelined_time(const PipelinedProducts& library,
                             const ProductCut& cut,
                             const ProductShape& shape,
                             const PipelinedDevice& device) {
  const Parts parts = parts_of(library, cut, shape, device);
  return joined(library, parts);
}

ResidualPlace residual_place(const ProductShape& shape,
                             const PipelinedChoice& choice,
                             const PipelinedDevice& device) {
  // Libraries choose kernels by how well whole waves of common tiles fill the units.
  const auto tail = [&](double tile_m, double tile_n) {
    const double waves =
        whole(shape.m / tile_m) * whole(shape.n / tile_n) * shape.products / device.units;
    return whole(waves) / waves;
  };
  const PipelinedTime& time = choice.time;
  return {shape.m,
          shape.n,
          shape.k,
          shape.m * shape.n,
          whole(shape.m / padded_rows) * padded_rows / shape.m,
          time.us,
          time.compute_us / time.memory_us,
          time.tiles / device.units,
          tail(128, 256),
          tail(256, 128),
          tail(128, 128),
          tail(64, 64)};
}

PipelinedChoice choose_pipelined(const PipelinedProducts& library,
                                 std::span<const GemmTile> tiles,
                                 const ProductShape& shape,
                                 const PipelinedDevice& device,
                                 std::int64_t max_split) {
  PipelinedChoice best;
  best.time.us = std::numeric_limits<double>::max();
  const double step = step_bytes / device.element_bytes;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto m = static_cast<double>(tiles[i].m);
    const auto n = static_cast<double>(tiles[i].n);
    for (const bool turned : {false, true}) {
      if (turned && m == n) break;
      ProductCut cut{
          .tile_m = turned ? n : m, .tile_n = turned ? m : n, .efficiency = tiles[i].efficiency};
      const double waves =
          whole(shape.m / cut.tile_m) * whole(shape.n / cut.tile_n) * shape.products / device.units;
      for (const int split : pipelined_splits) {
        if (split > max_split || (split > 1 && (shape.k <= split * step || waves > most_waves))) {
          break;
        }
        cut.split = split;
        const Parts parts = parts_of(library, cut, shape, device);
        if (parts.least_us() >= best.time.us) continue;
        const PipelinedTime time = joined(library, parts);
        if (time.us < best.time.us) best = {time, i, turned, split};
      }
    }
  }
  return best;
}

}  // namespace schedlab
