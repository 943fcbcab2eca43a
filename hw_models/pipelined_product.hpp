// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/residual_trees.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/matrix_library.hpp"

#include <cstdint>
#include <span>

namespace schedlab {

/// Where a product finds its operands.
enum class OperandReading : std::uint8_t {
  /// As the tables do that the shipped libraries are fitted to: six weights B in turn share one
  /// input A, so that each comes from the last-level cache if what is used between two uses of it
  /// fits (ai-dynamo/aiconfigurator, collector/vllm/collect_gemm.py: outside_loop_count = 6).
  as_measured,
  warm,  ///< both as if the product had just run
  cold,  ///< all in the device's memory
};
template <>
struct EnumNames<OperandReading> {
  static constexpr auto names = name_list("as_measured", "warm", "cold");
};

/// What a product of a pipelined library takes.
enum class ProductTimes : std::uint8_t {
  model,     ///< what the formula gives
  measured,  ///< with the residuals of measured products around it, where the library has any
};
template <>
struct EnumNames<ProductTimes> {
  static constexpr auto names = name_list("model", "measured");
};

/// Ranges and meanings, in the order of the enumerators.
[[nodiscard]] std::span<const ParameterInfo> product_parameters();

/// A device as this model sees it; times are in us.
struct PipelinedDevice {
  double units = 1;        ///< that a product may spread over
  double unit_flop = 0;    ///< per us, peak of one unit
  double memory_byte = 0;  ///< per us, nominal
  double cache_bytes = 0;  ///< last-level cache
  double element_bytes = 2;
};
[[nodiscard]] PipelinedDevice pipelined_device(const Device& device,
                                               DataType type,
                                               std::int64_t units);

/// What does not depend on tile and split; C[m, n] = A[m, k] * B[k, n], `products` side by side.
struct ProductShape {
  double m = 1;
  double n = 1;
  double k = 1;
  double products = 1;
  double a_bytes = 0;  ///< of A that come from memory
  double b_bytes = 0;  ///< likewise
  double c_bytes = 0;  ///< written, and read where the product accumulates
};
/// With the share of its operands that the last-level cache holds, by the reading and, where the
/// graph knows more, by Kernel::bytes_cached.
[[nodiscard]] ProductShape product_shape(const Kernel& kernel,
                                         const PipelinedProducts& library,
                                         const PipelinedDevice& device,
                                         OperandReading reading);

/// Parts of k that are tried; libraries use others between them, but no measured time tells.
inline constexpr int pipelined_splits[] = {1, 2, 3, 4, 6, 8, 12, 16};

/// One tile, as laid over C, and one split of k.
struct ProductCut {
  double tile_m = 1;
  double tile_n = 1;
  double efficiency = 1;  ///< of a unit's peak
  int split = 1;
};

struct PipelinedTime {
  double us = 0;          ///< of the product
  double compute_us = 0;  ///< arithmetic, loads and latencies on the units
  double memory_us = 0;
  double arithmetic_us = 0;  ///< of a unit, without waiting for anything
  double tiles = 1;          ///< parts of k included
};

/// Time of a product in tiles of tile_m x tile_n, k in `split` parts:
///
///   tiles   = ceil(m / tile_m) ceil(n / tile_n) split products
///   waves   = q ceil(tiles / units) + (1 - q) max(1, tiles / units)    q: wave_quantization; 0 is
///   a
///             persistent kernel or stream-k, which divides the last wave, 1 one wave after another
///   steps   = ceil(k / split / step)                                   step: 128 bytes of k
///   tile    = steps x max(2 tile_m tile_n step FLOP at peak / units x efficiency,
///                         (tile_m + tile_n) 128 B at unit_gb_per_s)
///   rest    = tiles that reside on a unit: 128 x 128 / (tile_m tile_n), 1 to 4
///   rounds  = max(1, as waves, of units x rest)
///   compute = max(waves x tile, rounds x steps x step_ns)
///             + (1 + (rounds - 1)(1 - epilogue_overlap))
///               x (tile_us min(1, steps / fill_steps) + tile_m tile_n elements of the result,
///                  those of all residents, at epilogue_gb_per_s)
///   memory  = memory_latency + what is not in the last-level cache at memory_share of the nominal
///             bandwidth
///   cache   = what all tiles load together at cache_gb_per_s
///   core    = (compute^p + memory^p + cache^p)^(1/p)                   p: overlap; large: the
///             slowest of the three decides, 1: one after another
///   clocks  = 1 + sustained_loss ln(1 + waves x tile / sustained_us)   long products run at lower
///             clocks under the power limit
///   product = floor + core x clocks, of split products + split_us + their fp32 sums at
///             split_gb_per_s
///   in the last-level cache is the share 1 / (1 + (cache_use x bytes used in between / cache)^4)
///
/// Valid for: dense products with operands of 2 bytes, m 1 to 32768, n and k 32 to 65536; others
/// are carried over by the data sheet's rates. Cost: some 30 ns.
[[nodiscard]] PipelinedTime pipelined_time(const PipelinedProducts& library,
                                           const ProductCut& cut,
                                           const ProductShape& shape,
                                           const PipelinedDevice& device);

/// The fastest tile and split of a library.
struct PipelinedChoice {
  PipelinedTime time;
  std::size_t tile = 0;  ///< index in the library
  bool turned = false;   ///< the tile lies across
  int split = 1;
};
/// Where the library's residuals are looked up for a product.
[[nodiscard]] ResidualPlace residual_place(const ProductShape& shape,
                                           const PipelinedChoice& choice,
                                           const PipelinedDevice& device);

/// Cost: two orientations of each tile times pipelined_splits, up to `max_split`.
[[nodiscard]] PipelinedChoice choose_pipelined(const PipelinedProducts& library,
                                               std::span<const GemmTile> tiles,
                                               const ProductShape& shape,
                                               const PipelinedDevice& device,
                                               std::int64_t max_split);

}  // namespace schedlab
