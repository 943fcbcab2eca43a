// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/blas_library.hpp"
#include "real_exec/cuda/blas_product.hpp"
#include "real_exec/cuda/cuda_handles.hpp"

#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>

namespace schedlab::detail {

class LtProducts;

/// A handle of cuBLAS with a workspace of its own, for work that runs one after another: tasks of
/// one stream. Two that may run at once must not share one.
class CudaBlas {
 public:
  /// `lt`: computes the products, by cuBLASLt; nullptr: cuBLAS does. References must outlive this.
  CudaBlas(const BlasLibrary& library, LtProducts* lt, std::size_t workspace_bytes)
      : library_(library), lt_(lt), workspace_bytes_(workspace_bytes) {}
  CudaBlas(const CudaBlas&) = delete;
  CudaBlas& operator=(const CudaBlas&) = delete;
  ~CudaBlas();

  /// Makes handle and workspace, which must not happen while a stream is being captured; else the
  /// first product does it.
  void prepare();
  /// Forgets the stream of the last product, which may be destroyed.
  void unbind() { bound_ = nullptr; }
  /// `measuring`: as of LtProducts::multiply().
  /// Throws DeviceError; InfeasibleError for another type or sizes above 2^31.
  void multiply(const BlasProduct& product, cudaStream_t stream, bool measuring = false);

 private:
  void bind(cudaStream_t stream);
  void allow(std::int64_t units);
  void multiply_one(const BlasProduct& p,
                    const BlasTypes& types,
                    const void* alpha,
                    const void* beta) const;
  void multiply_batch(const BlasProduct& p,
                      const BlasTypes& types,
                      const void* alpha,
                      const void* beta) const;

  const BlasLibrary& library_;
  LtProducts* lt_;
  std::size_t workspace_bytes_;
  cublasHandle_t handle_ = nullptr;
  DeviceArray<std::byte> workspace_;
  cudaStream_t bound_ = nullptr;
  std::int64_t units_ = 0;  // that products may use; 0: all
};

}  // namespace schedlab::detail
