// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/blas_library.hpp"
#include "real_exec/cuda/cuda_handles.hpp"
#include "sim/graph/task.hpp"

#include <cublas_v2.h>

#include <cstddef>
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

/// A handle of cuBLAS with a workspace of its own, for work that runs one after another: tasks of
/// one stream. Two that may run at once must not share one.
class CudaBlas {
 public:
  CudaBlas(const BlasLibrary& library, std::size_t workspace_bytes)
      : library_(library), workspace_bytes_(workspace_bytes) {}
  CudaBlas(const CudaBlas&) = delete;
  CudaBlas& operator=(const CudaBlas&) = delete;
  ~CudaBlas();

  /// Makes handle and workspace, which must not happen while a stream is being captured; else the
  /// first product does it.
  void prepare();
  /// Forgets the stream of the last product, which may be destroyed.
  void unbind() { bound_ = nullptr; }
  /// Throws DeviceError; InfeasibleError for another type or sizes above 2^31.
  void multiply(const BlasProduct& product, cudaStream_t stream);

 private:
  void bind(cudaStream_t stream);
  void multiply_one(const BlasProduct& p,
                    const BlasTypes& types,
                    const void* alpha,
                    const void* beta) const;
  void multiply_batch(const BlasProduct& p,
                      const BlasTypes& types,
                      const void* alpha,
                      const void* beta) const;

  const BlasLibrary& library_;
  std::size_t workspace_bytes_;
  cublasHandle_t handle_ = nullptr;
  DeviceArray<std::byte> workspace_;
  cudaStream_t bound_ = nullptr;
};

}  // namespace schedlab::detail
