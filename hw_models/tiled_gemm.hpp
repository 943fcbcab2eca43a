// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"

namespace schedlab {

/// How a matrix kernel is cut into tiles on a device, and what that takes.
struct TileChoice {
  GemmTile tile;                ///< as laid over C[m, n]; may be turned by 90 degrees
  std::int64_t split_k = 1;     ///< parts of k that are computed side by side and added afterwards
  std::int64_t tiles = 1;       ///< split parts included
  std::int64_t waves = 1;       ///< passes over the units
  std::int64_t busy_units = 1;  ///< that have a tile in the first wave
  Duration compute{0};          ///< all waves
  Duration memory{0};           ///< all traffic with the device's memory
  Duration duration{0};         ///< of the kernel, alone
};

/// The tile with the shortest duration; at a tie the one on fewer units, then the first listed.
///
///   C[m, n] += A[m, k] * B[k, n]   units = matrix_units of the device, one tile per unit at a time
///   tiles   = ceil(m / tile_m) * ceil(n / tile_n) * split
///   waves   = ceil(tiles / units)
///   part_k  = ceil(k / split)
///   a tile  = max(2 tile_m tile_n part_k / (peak / units * efficiency),
///                 ((tile_m + tile_n) part_k + tile_m tile_n) element / unit_bandwidth)
///   compute = waves * a tile       a partial tile costs a full one, a partial wave a full one
///   memory  = (bytes + (split > 1 ? 2 split m n * 4 B : 0)) / (nominal bandwidth * efficiency)
///   kernel  = kernel_floor * (split > 1 ? 2 : 1) + max(compute, memory)
///
/// Shapes   m, n, k >= 1; the device has units and tiles.
/// Cost     O(tiles listed * log(max_split)).
[[nodiscard]] TileChoice choose_tile(const Kernel& kernel,
                                     const Device& device,
                                     std::int64_t max_split);

/// Kernels as libraries launch them: GEMMs in tiles and waves, point-wise kernels by bandwidth. The
/// kernels of an operation run one after another, with the stream gap between them (KernelSum).
///
///   gemm       choose_tile; share = busy units / units, held for the whole duration
///   pointwise, reduction, copy on the device: units are filled one after another,
///              busy units = ceil(bytes / pointwise_bytes_per_unit), at most all
///              fullest    = max(1 / units, min(1, pointwise_bytes_per_unit / bytes)) of the work
///              kernel     = kernel_floor + max(flops * fullest / (peak / units),
///                                              bytes * fullest / unit_bandwidth,
///                                              bytes / (nominal bandwidth * efficiency))
///   blocks     tiles of a gemm, units' worth of a point-wise kernel, one to a unit; where units
///   are
///              not shared block by block they do not matter
///   convolution, or a gemm without its shape: fills the device at the efficiency of the best tile
///   copies between host and device: latency + bytes / link
///
/// Valid for: dense kernels of a tuned library. Every operand comes from the device's memory:
/// re-use in the cache between kernels is not credited, so chains of small kernels on cached
/// weights are overestimated. A kernel with a partly empty last wave holds all its units to its
/// end.
///
/// Source: NVIDIA, "Matrix Multiplication Background User's Guide" (tiles, waves and the tail).
class TiledGemm final : public CostModel {
 public:
  /// `max_split` >= 1: largest number of parts k may be split into; 1 = no split-k.
  explicit TiledGemm(std::int64_t max_split = 1) : max_split_(max_split) {}

  [[nodiscard]] std::string_view name() const override { return "tiled_gemm"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;

 private:
  std::int64_t max_split_;
};

}  // namespace schedlab
