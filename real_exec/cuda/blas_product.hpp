// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/blas_product.hpp"
#include "sim/graph/task.hpp"

#include <cublas_v2.h>

#include <array>

namespace schedlab::detail {

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
