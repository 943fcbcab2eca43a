// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstdint>

namespace schedlab::detail {

/// A factor or the result of a product, row after row.
struct BlasMatrix {
  const void* data = nullptr;
  std::int64_t stride = 0;   ///< elements from one row to the next
  bool transposed = false;   ///< of a factor: memory holds its transpose
  std::int64_t product = 0;  ///< elements from one product of a batch to the next
};

/// C[m, n] = A[m, k] * B[k, n] + beta * C. Factors have the type: fp32, tf32 (fp32 in memory),
/// bf16, fp16 or fp64. C is fp64 if they are, else fp32 or bf16 (`low_result`); sums are taken in
/// fp64 or fp32.
struct BlasProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  BlasMatrix a;
  BlasMatrix b;
  void* c = nullptr;
  std::int64_t c_stride = 0;
  std::int64_t c_product = 0;
  bool add = false;  ///< beta = 1, else 0
  DataType type = DataType::fp32;
  std::int64_t count = 1;
  bool low_result = false;  ///< of factors in bf16 that C is, too
  std::int64_t units = 0;   ///< multiprocessors that it may use; 0: all
};

}  // namespace schedlab::detail
