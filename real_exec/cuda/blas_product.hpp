// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cublas_v2.h>

#include <array>
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
/// bf16, fp16 or fp64. C is fp64 if they are, else fp32; sums are taken in C's type.
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
};

/// A product's types as cuBLAS names them.
struct BlasTypes {
  cudaDataType factor = CUDA_R_32F;
  cudaDataType result = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

/// Scalars of a product, in the type that cuBLAS wants them.
class BlasScalars {
 public:
  explicit BlasScalars(const BlasProduct& product)
      : wide_(product.type == DataType::fp64), add_(product.add) {}

  [[nodiscard]] const void* alpha() const { return of(true); }
  [[nodiscard]] const void* beta() const { return of(add_); }

 private:
  [[nodiscard]] const void* of(bool one) const {
    static constexpr std::array doubles{0.0, 1.0};
    static constexpr std::array floats{0.0F, 1.0F};
    if (wide_) return &doubles[one ? 1 : 0];
    return &floats[one ? 1 : 0];
  }

  bool wide_;
  bool add_;
};

}  // namespace schedlab::detail
