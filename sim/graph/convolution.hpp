// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstdint>

namespace schedlab {

/// A two-dimensional convolution, y[n, k, p, q] = x[n, c, h, w] * filter[k, c / groups, r, s], in
/// the letters of cuDNN: n images, c input and k output channels, h x w input, r x s filter.
struct ConvShape {
  std::int64_t n = 1;
  std::int64_t c = 1;
  std::int64_t h = 1;
  std::int64_t w = 1;
  std::int64_t k = 1;
  std::int64_t r = 1;
  std::int64_t s = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t pad_h = 0;
  std::int64_t pad_w = 0;
  std::int64_t groups = 1;

  /// Output rows, (h + 2 pad_h - r) / stride_h + 1.
  [[nodiscard]] std::int64_t p() const { return (h + 2 * pad_h - r) / stride_h + 1; }
  /// Output columns, likewise.
  [[nodiscard]] std::int64_t q() const { return (w + 2 * pad_w - s) / stride_w + 1; }
};

enum class ConvPass : std::uint8_t {
  forward,          ///< y from x and filter
  data_gradient,    ///< dx from dy and filter
  weight_gradient,  ///< dfilter from x and dy
};

/// The convolution as a kernel: the matrix product it is computed as (implicit GEMM), per group,
/// and the bytes of its tensors, each read or written once.
///
///   forward          m = k / groups              n = images p q          k = c / groups r s
///   data_gradient    m = c / groups              n = images p q          k = k / groups r s
///   weight_gradient  m = k / groups              n = c / groups r s      k = images p q
///   flops            2 m n k groups = 2 images p q k (c / groups) r s in every pass
///
/// The data gradient's n is exact for unit stride and equal padding; for larger strides, where
/// libraries split it into stride_h * stride_w smaller products, only the FLOPs are.
///
/// Errors   ContractViolation unless all sizes are positive, paddings are not negative, `groups`
///          divides both channel counts, and the filter fits the padded input.
/// Source   Chetlur et al., cuDNN: Efficient Primitives for Deep Learning, arXiv 1410.0759, 2014.
[[nodiscard]] Kernel convolution_kernel(const ConvShape& shape, ConvPass pass, DataType type);

}  // namespace schedlab
