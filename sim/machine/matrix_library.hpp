// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// How the operands of C = A * B lie in memory, in the words of BLAS (column-major): which of A, B
/// is transposed.
enum class GemmLayout : std::uint8_t { nn, nt, tn };
inline constexpr std::size_t gemm_layout_count = 3;

/// A pass of a library's recurrent layer, per step and without its input product:
///
///   step = fixed + max(bytes of the weights / (reachable bandwidth * memory_share),
///                      FLOPs / (peak * efficiency))
///
/// `fixed` holds all small kernels of a step but one point-wise kernel (the cell), the launches and
/// gaps between them. The first `recurrent_early_steps` of a call take `early` longer each.
struct RecurrentPassCost {
  Duration fixed{0};
  Duration early{0};
  double memory_share = 1.0;
  double efficiency = 1.0;

  friend bool operator==(const RecurrentPassCost&, const RecurrentPassCost&) = default;
};
inline constexpr std::int64_t recurrent_early_steps = 50;

/// How the matrix kernels of one generation of a library run on a device, fitted to measurements.
/// hw_models/tiled_gemm.hpp has the formula.
struct MatrixLibrary {
  std::string name{};             ///< "cuBLAS 10.1, cuDNN 7.6"
  std::string source{};           ///< what it was fitted to, when, with which command and split
  std::vector<DataType> types{};  ///< of the operands
  std::vector<GemmTile> tiles{};
  Duration call{0};       ///< of every product, beyond the kernel floor
  Duration split{0};      ///< of the second kernel of split-k, beyond gap and kernel floor
  Duration tile_step{0};  ///< shortest time of one step of k in a tile, however idle the unit is
  std::int64_t max_split = 1;
  double memory_share = 1.0;  ///< of the reachable bandwidth, of products
  std::array<double, gemm_layout_count> layout{1.0, 1.0, 1.0};  ///< factor on efficiencies
  /// Products with a side of up to `narrow_side` run in tiles of 128 x narrow_side and no others; 0
  /// = no such kernel.
  std::int64_t narrow_side = 0;
  double narrow_efficiency = 1.0;
  RecurrentPassCost forward{};
  RecurrentPassCost data_gradient{};
  bool recurrent = false;  ///< forward and data_gradient are known

  friend bool operator==(const MatrixLibrary&, const MatrixLibrary&) = default;
};

}  // namespace schedlab
