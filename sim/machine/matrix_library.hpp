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

/// A pass of a library's recurrent layer, per step and without its input product;
/// hw_models/recurrent_step.hpp has the formula. The first `recurrent_early_steps` of a call take
/// `early` longer each.
struct RecurrentPassCost {
  Duration fixed{0};  ///< all small kernels of a step but the cell, launches and gaps between them
  Duration early{0};
  double memory_share = 1.0;
  double efficiency = 1.0;
  double narrow_efficiency = 0;  ///< of a kernel for batches of up to 16; 0 = there is none
  Duration slow_step{0};         ///< of k, in a kernel for batches of 17 to 32; 0 = there is none

  friend bool operator==(const RecurrentPassCost&, const RecurrentPassCost&) = default;
};

/// The weight gradient of all steps of a call to a library's recurrent layer, in the same place.
struct WeightGradientCost {
  Duration fixed{0};
  double efficiency = 1.0;
  double result_moves = 0;   ///< how often the result crosses the memory
  double operand_moves = 0;  ///< how often both operands do

  friend bool operator==(const WeightGradientCost&, const WeightGradientCost&) = default;
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
  /// Factor on the share for T,N products whose k is no power of two: rows of both operands lie k
  /// elements apart.
  double strided_share = 1.0;
  /// Products with a side of up to `narrow_side` run in tiles of 128 x narrow_side and no
  /// others; 0 = no such kernel.
  std::int64_t narrow_side = 0;
  double narrow_efficiency = 1.0;
  RecurrentPassCost forward{};
  RecurrentPassCost data_gradient{};
  WeightGradientCost weight_gradient{};
  bool recurrent = false;  ///< the three passes above are known

  friend bool operator==(const MatrixLibrary&, const MatrixLibrary&) = default;
};

}  // namespace schedlab
