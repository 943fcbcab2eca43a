// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/collective.hpp"
#include "hw_models/pipelined_product.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/matrix_library.hpp"

namespace schedlab {

/// How a matrix kernel is cut into tiles on a device, and what that takes.
struct TileChoice {
  GemmTile tile;                ///< as laid over C[m, n]; may be turned by 90 degrees
  std::int64_t split_k = 1;     ///< parts of k that are computed side by side and added afterwards
  std::int64_t tiles = 1;       ///< split parts included
  std::int64_t waves = 1;       ///< passes over the units
  std::int64_t busy_units = 1;  ///< that have a tile in the first wave
  Duration compute{0};          ///< all waves
  Duration arithmetic{0};       ///< of it without waiting for latencies
  Duration memory{0};           ///< all traffic with the device's memory
  Duration duration{0};         ///< of the kernel, alone
};

/// Largest number of parts of k that is tried by default. Libraries split k when there are fewer
/// tiles than units; beyond 16 parts the sums cost more than is gained on the machines we ship.
/// What a library does is not published. // assumed
inline constexpr std::int64_t default_max_split = 16;

/// Whose kernels a matrix product runs in, where the machine knows any.
enum class LibraryUse : std::uint8_t {
  products,                 ///< the library of the product's data type, else the device's tiles
  none,                     ///< the device's tiles, each as efficient as it is on large products
  recurrent_forward,        ///< products are steps of a library's recurrent layer, weight
  recurrent_data_gradient,  ///< gradients that of all its steps (recurrent_step.hpp)
};

struct GemmOptions {
  std::int64_t max_split = default_max_split;  ///< at least 1; 1 = no split-k
  GemmLayout layout = GemmLayout::nn;          ///< of all products
  LibraryUse library = LibraryUse::products;
  OperandReading operands = OperandReading::as_measured;  ///< of pipelined libraries
  ProductTimes products = ProductTimes::model;            ///< likewise
};

/// The tile with the shortest duration; at a tie the one on fewer units, then the first listed.
///
///   C[m, n] += A[m, k] * B[k, n], `products` of them side by side (product_count)
///   units   = matrix_units of the device, one tile per unit at a time
///   spread  = those that one kernel may use (units_per_kernel, else all)
///   tiles   = ceil(m / tile_m) * ceil(n / tile_n) * split * products
///   waves   = ceil(tiles / spread)
///   part_k  = ceil(k / split)
///   a tile  = max(2 tile_m tile_n part_k / (peak / units * efficiency),
///                 ((tile_m + tile_n) part_k + tile_m tile_n) element / unit_bandwidth)
///   compute = waves * a tile       a partial tile costs a full one, a partial wave a full one
///   memory  = memory_time of the operands, and of the partial sums where they go through memory
///   kernel  = kernel_floor + max(compute, memory)
///   split k: each part writes its sums in fp32, sums = split products m n * 4 B, and a second
///   kernel adds them:
///             + stream_gap + kernel_floor + sums / bandwidth
///   bandwidth is that of the last-level cache if half of it holds the sums, else of the memory.
///
/// Products of a type for which the machine lists a library (MatrixLibrary) are cut into the tiles
/// of that library instead:
///   rest    = tiles that reside on a unit (resident_blocks)
///   compute = max(waves * a tile, ceil(waves / rest) * part_k * tile_step)
///             a tile at `efficiency` times the factor of its layout. Tiles that share a unit hide
///             each other's latencies; a unit with one tile waits for them in every step of k
///   memory  = at memory_share of the reachable bandwidth, T,N with a k that is no power of two at
///             strided_share of that
///   kernel  = kernel_floor + call + max(compute, memory)
///   split k, up to its max_split:  + stream_gap + kernel_floor + split + sums / bandwidth
///   a unit's throughput is used by the arithmetic alone: what else a product takes (latencies,
///   call,
///             second kernel) leaves it to kernels that share the unit
///   a side of up to narrow_side: tiles of 128 x narrow_side at narrow_efficiency, and no others,
///             which can make such a product slower than a wider one, as measured
///
/// A library of pipelined kernels (MatrixLibrary::pipelined): choose_pipelined instead, with
/// ProductTimes::measured times residual_factor.
///
/// Shapes   m, n, k >= 1; the device has units and tiles.
/// Cost     O(tiles listed * log(max_split)).
[[nodiscard]] TileChoice choose_tile(const Kernel& kernel,
                                     const Device& device,
                                     const GemmOptions& options);

/// Kernels as libraries launch them: GEMMs in tiles and waves, point-wise kernels by bandwidth. The
/// kernels of an operation run one after another, with the stream gap between them (KernelSum).
///
///   gemm, convolution: choose_tile, or what a library's recurrent layer takes (LibraryUse);
///              share = busy units / units, held for the whole duration. A
///              convolution is the product it is computed as (sim/graph/convolution.hpp: implicit
///              GEMM); its memory traffic is that of its tensors, once each. Where the machine
///              lists conv_tiles it is cut into those, and k is split for operations of class
///              weight_gradient only, as in cuDNN, whose kernels name their tiles
///   pointwise, copy on the device: units are filled one after another,
///              busy units = ceil(bytes / pointwise_bytes_per_unit), at most `spread`
///              fullest    = max(1 / spread, min(1, pointwise_bytes_per_unit / bytes)) of the work
///              kernel     = kernel_floor + max(flops * fullest / (peak / units),
///                                              bytes * fullest / unit_bandwidth,
///                                              memory_time)
///   reduction  of unknown rows: as a point-wise kernel. Of m rows of n: the faster of
///              one unit per row: busy units = min(m, that of a point-wise kernel),
///                                fullest = ceil(m / busy units) / m
///              rows cut up: as a point-wise kernel, and a second kernel that adds one partial
///                           result per busy unit: + stream_gap + kernel_floor
///   blocks     tiles of a gemm, of which a unit runs one at a time at full rate, in blocks of the
///              shape listed with the tile (whole units without one); rows or units' worth of a
///              point-wise kernel or a reduction, one to a unit. A kernel with a grid of its own
///              keeps it, under all kinds of sharing: its work is spread evenly over those blocks,
///              and they over `spread` units; that of matrix kernels runs at the efficiency of the
///              best tile. The blocks of others matter only where units are shared block by block
///   gemm or convolution without its shape: fills what it may spread over, at the efficiency of
///              the best tile
///   copies between host and device: latency + bytes / link
///
/// Valid for: dense kernels of a tuned library. Operands come from the device's memory but for
/// weights that every step reads again and that fit (sim/machine/cache_reuse.hpp); what one kernel
/// leaves in the cache for the next is not credited. No Winograd or FFT convolutions: 3 x 3 filters
/// with unit stride can be up to 2.25 times faster. A kernel with a partly empty last wave holds
/// all its units to its end.
///
/// Source: NVIDIA, "Matrix Multiplication Background User's Guide" (tiles, waves and the tail).
class TiledGemm final : public NetworkCostModel {
 public:
  explicit TiledGemm(const GemmOptions& options = {}) : options_(options) {}
  explicit TiledGemm(std::int64_t max_split) : options_{.max_split = max_split} {}

  [[nodiscard]] std::string_view name() const override { return "tiled_gemm"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;
  /// Of the machine, and its attention, where it has any.
  [[nodiscard]] bool reads_libraries() const { return options_.library != LibraryUse::none; }

 private:
  GemmOptions options_;
};

}  // namespace schedlab
