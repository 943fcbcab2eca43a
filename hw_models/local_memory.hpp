// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/collective.hpp"
#include "sim/machine/cost_model.hpp"

#include <cstdint>

namespace schedlab {

/// How one core group computes products of one shape from its cores' local memories.
struct LocalProduct {
  /// Of each core: block[m, n] of the result, summed over k by steps of `k` from every core.
  struct Block {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;

    friend bool operator==(const Block&, const Block&) = default;
  };
  Block block{};
  bool turned = false;     ///< computed as C^T = B^T A^T, block and all
  double moved_bytes = 0;  ///< between memory and local memories, transposes included
  // Seconds of each resource; only the first four overlap.
  double compute = 0;
  double load = 0;      ///< A and B by DMA
  double exchange = 0;  ///< blocks of other cores by RMA
  double steps = 0;     ///< latency of a transfer for each step
  double fill = 0;      ///< the first step's blocks, before there is anything to compute
  double store = 0;     ///< C by DMA
  double transpose = 0;

  [[nodiscard]] double seconds() const;
};

/// The fastest blocks for C[m, n] = A[m, k] * B[k, n] of a matrix kernel with a shape, and what
/// they take. Cost: a thousand formulas.
/// Errors   InfeasibleError if the device's units are no groups of cores with local memories.
[[nodiscard]] LocalProduct local_product(const Kernel& kernel,
                                         const Device& device,
                                         bool transposes);

/// Groups of cores that compute from local memories (LDM), which software fills by DMA.
///
///   products     tile[rows * block.m, cols * block.n] of a mesh of rows x cols cores, one after
///                the other; per step of k each core gets its blocks of A and B by DMA into one of
///                two buffers, and the other cores' blocks of its row and column by RMA
///     local memory  >= block of C + 4 * (blocks of A and B): own and received ones, twice each
///     compute    = 2 * M * N * k / (core peak * core_efficiency); M, N: rows and columns of the
///                  core with most, N in whole vectors
///     load       = sum over rows of A (once per column of tiles) and B (once per row of tiles) of
///                  (row bytes + pieces * dma_half_row) / bandwidth; a piece: a block's row
///     exchange   = received bytes / rma,   steps = number of steps * dma_latency
///     seconds    = fill + max(compute, load, exchange, steps) + store [+ transpose]
///   others       max(FLOPs / peak, bytes / bandwidth) + 2 * dma_latency
///   every kernel starts and joins the cores: + kernel_floor
///
/// Convolutions are the product that they are computed as, its windows read from memory each time.
/// With `transposes` inputs of matrix products are read and written once more before, for a
/// library of column-major matrices. With units_per_kernel above 1 groups divide the product's
/// longer side.
/// Valid for: dense row-major operands; no group reads another's local memories; results are not
/// read. Rows of a convolution with few channels are shorter than assumed, so that it is slower.
/// Source: distribution and buffers as in Fang et al., swDNN, IPDPS 2017, doi
/// 10.1109/IPDPS.2017.20; transposes: swFLOWpro (see engine_class.hpp), section 4.1.
class LocalMemory final : public NetworkCostModel {
 public:
  explicit LocalMemory(bool transposes = true) : transposes_(transposes) {}

  [[nodiscard]] std::string_view name() const override { return "local_memory"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;

 private:
  bool transposes_;
};

}  // namespace schedlab
