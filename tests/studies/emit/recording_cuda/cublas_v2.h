// SPDX-License-Identifier: Apache-2.0
#pragma once

// The products of cuBLAS on the processor, as cuda_runtime.h does other work.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT };

struct RecordingBlas {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};
using cublasHandle_t = RecordingBlas*;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new RecordingBlas{};
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  *handle = {stream, nullptr};  // as cuBLAS: the default workspace again
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t) {
  handle->workspace = workspace;
  return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasSetSmCountTarget(cublasHandle_t /*handle*/, int units) {
  return units >= 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

namespace recording {

inline double number(const void* data, cudaDataType type, long long at) {
  if (type == CUDA_R_64F) return static_cast<const double*>(data)[at];
  if (type == CUDA_R_32F) return double{static_cast<const float*>(data)[at]};
  return double{__bfloat162float(static_cast<const __nv_bfloat16*>(data)[at])};
}

}  // namespace recording

inline cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle,
                                                 cublasOperation_t turn_a,
                                                 cublasOperation_t turn_b,
                                                 int m,
                                                 int n,
                                                 int k,
                                                 const void* alpha,
                                                 const void* a,
                                                 cudaDataType a_type,
                                                 int a_stride,
                                                 long long a_product,
                                                 const void* b,
                                                 cudaDataType b_type,
                                                 int b_stride,
                                                 long long b_product,
                                                 const void* beta,
                                                 void* c,
                                                 cudaDataType c_type,
                                                 int c_stride,
                                                 long long c_product,
                                                 int count,
                                                 cublasComputeType_t,
                                                 cublasGemmAlgo_t) {
  // A handle without a workspace of its own would share one with others.
  const bool fits = a_stride >= (turn_a == CUBLAS_OP_N ? m : k) &&
                    b_stride >= (turn_b == CUBLAS_OP_N ? k : n) && c_stride >= m &&
                    handle->workspace != nullptr;
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaDataType scalar = c_type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
  const double scale = recording::number(alpha, scalar, 0);
  const double keep = recording::number(beta, scalar, 0);
  recording::put(handle->stream, [=] {
    for (int of = 0; of < count; ++of) {
      for (long long column = 0; column < n; ++column) {
        for (long long row = 0; row < m; ++row) {
          double sum = 0;
          for (long long i = 0; i < k; ++i) {
            const long long at_a =
                of * a_product + (turn_a == CUBLAS_OP_N ? i * a_stride + row : row * a_stride + i);
            const long long at_b = of * b_product + (turn_b == CUBLAS_OP_N ? column * b_stride + i
                                                                           : i * b_stride + column);
            sum += recording::number(a, a_type, at_a) * recording::number(b, b_type, at_b);
          }
          const long long at = of * c_product + column * c_stride + row;
          // As in BLAS, what is not kept is not read.
          const double kept = keep == 0 ? 0 : keep * recording::number(c, c_type, at);
          if (c_type == CUDA_R_64F) {
            static_cast<double*>(c)[at] = scale * sum + kept;
          } else if (c_type == CUDA_R_16BF) {
            static_cast<__nv_bfloat16*>(c)[at] =
                __float2bfloat16_rn(static_cast<float>(scale * sum + kept));
          } else {
            static_cast<float*>(c)[at] = static_cast<float>(scale * sum + kept);
          }
        }
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasGemmEx(cublasHandle_t handle,
                                   cublasOperation_t turn_a,
                                   cublasOperation_t turn_b,
                                   int m,
                                   int n,
                                   int k,
                                   const void* alpha,
                                   const void* a,
                                   cudaDataType a_type,
                                   int a_stride,
                                   const void* b,
                                   cudaDataType b_type,
                                   int b_stride,
                                   const void* beta,
                                   void* c,
                                   cudaDataType c_type,
                                   int c_stride,
                                   cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle,
                                    turn_a,
                                    turn_b,
                                    m,
                                    n,
                                    k,
                                    alpha,
                                    a,
                                    a_type,
                                    a_stride,
                                    0,
                                    b,
                                    b_type,
                                    b_stride,
                                    0,
                                    beta,
                                    c,
                                    c_type,
                                    c_stride,
                                    0,
                                    1,
                                    compute,
                                    algorithm);
}
