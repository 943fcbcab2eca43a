// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/machine/fitted_parameters.hpp"
#include "sim/machine/platform.hpp"

#include <array>
#include <cstdint>
#include <optional>
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

/// What a library's pipelined kernels take, which load the next part of k while they compute; the
/// names are keys of machine files. hw_models/pipelined_product.hpp has ranges, meanings and the
/// formula.
enum class ProductParameter : std::uint8_t {
  floor_us,
  tile_us,
  fill_steps,
  step_ns,
  memory_share,
  memory_latency_us,
  unit_gb_per_s,
  cache_gb_per_s,
  cache_use,
  split_us,
  split_gb_per_s,
  epilogue_gb_per_s,
  epilogue_overlap,
  wave_quantization,
  overlap,
  sustained_loss,
  sustained_us,
};
template <>
struct EnumNames<ProductParameter> {
  static constexpr auto names = name_list("floor_us",
                                          "tile_us",
                                          "fill_steps",
                                          "step_ns",
                                          "memory_share",
                                          "memory_latency_us",
                                          "unit_gb_per_s",
                                          "cache_gb_per_s",
                                          "cache_use",
                                          "split_us",
                                          "split_gb_per_s",
                                          "epilogue_gb_per_s",
                                          "epilogue_overlap",
                                          "wave_quantization",
                                          "overlap",
                                          "sustained_loss",
                                          "sustained_us");
};
inline constexpr std::size_t product_parameter_count = 17;

/// What trees of residuals ask about a product C[m, n] = A[m, k] * B[k, n];
/// hw_models/residual_trees.hpp has meanings.
enum class ResidualFeature : std::uint8_t {
  m,
  n,
  k,
  results,
  padding,
  us,
  balance,
  waves,
  tail_128x256,
  tail_256x128,
  tail_128x128,
  tail_64x64,
};
inline constexpr std::size_t residual_feature_count = 12;

/// A regression tree: 100 ln(measured / model) by questions. Nodes in preorder: a question's first
/// answer is the node after it.
struct ResidualTree {
  struct Node {
    double number = 0;            ///< at most so much of `asked`; of a leaf the value, in per cent
    std::uint16_t otherwise = 0;  ///< the node for more; 0: a leaf
    ResidualFeature asked = ResidualFeature::m;

    friend bool operator==(const Node&, const Node&) = default;
  };
  std::vector<Node> nodes{};  ///< at least a leaf

  friend bool operator==(const ResidualTree&, const ResidualTree&) = default;
};

/// Measured over predicted time of products with up to so many rows of A, more than the interval
/// before: between `low` and `high` for nine of ten.
struct ProductInterval {
  double rows = 0;
  double low = 1;
  double high = 1;

  friend bool operator==(const ProductInterval&, const ProductInterval&) = default;
};
inline constexpr double product_interval_coverage = 0.9;

/// The parameters, and the efficiency of each of a library's tiles.
struct PipelinedProducts {
  std::array<FittedValue, product_parameter_count> values{};
  std::vector<FittedValue> efficiencies{};   ///< by tile; GemmTile::efficiency is their value
  std::vector<ResidualTree> residuals{};     ///< products `measured` add them; none: not known
  std::vector<ProductInterval> intervals{};  ///< by rising rows; none: not known

  [[nodiscard]] FittedValue& of(ProductParameter parameter) {
    return values[static_cast<std::size_t>(parameter)];
  }
  [[nodiscard]] double operator[](ProductParameter parameter) const {
    return values[static_cast<std::size_t>(parameter)].value;
  }
  friend bool operator==(const PipelinedProducts&, const PipelinedProducts&) = default;
};

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
  /// Products by hw_models/pipelined_product.hpp instead: of the above only name, source, types and
  /// tiles count.
  std::optional<PipelinedProducts> pipelined{};
  bool assumed =
      false;  ///< its numbers are carried over from other devices, not fitted to this one

  friend bool operator==(const MatrixLibrary&, const MatrixLibrary&) = default;
};

}  // namespace schedlab
