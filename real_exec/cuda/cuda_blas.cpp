// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_blas.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

namespace schedlab::detail {
namespace {

struct BlasTypes {
  cudaDataType factor;
  cudaDataType result;
  cublasComputeType_t compute;
};

BlasTypes blas_types(DataType type) {
  switch (type) {
    case DataType::fp32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DataType::bf16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::fp16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::fp64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    default:
      throw InfeasibleError(
          fmt::format("matrix products on CUDA devices are of fp32, tf32, bf16, fp16 or fp64, not "
                      "of {}",
                      to_string(type)),
          "data type",
          std::string(to_string(type)),
          "fp32");
  }
}

int blas_size(std::int64_t size, const char* what) {
  if (size > std::numeric_limits<int>::max()) {
    throw InfeasibleError(fmt::format("a matrix product with {} = {}: cuBLAS takes at most {}",
                                      what,
                                      size,
                                      std::numeric_limits<int>::max()));
  }
  return static_cast<int>(size);
}

}  // namespace

CudaBlas::~CudaBlas() {
  if (handle_ != nullptr) static_cast<void>(library_.destroy(handle_));
}

void CudaBlas::prepare() {
  if (handle_ != nullptr) return;
  library_.check(library_.create(&handle_), "cublasCreate");
  workspace_ = DeviceArray<std::byte>(workspace_bytes_);
  bound_ = nullptr;
}

void CudaBlas::bind(cudaStream_t stream) {
  prepare();
  if (bound_ == stream && bound_ != nullptr) return;
  // Setting a stream sets the default workspace, which streams share.
  library_.check(library_.set_stream(handle_, stream), "cublasSetStream");
  library_.check(library_.set_workspace(handle_, workspace_.data(), workspace_.bytes()),
                 "cublasSetWorkspace");
  bound_ = stream;
}

void CudaBlas::multiply(const BlasProduct& p, cudaStream_t stream) {
  const BlasTypes types = blas_types(p.type);
  bind(stream);
  const float one = 1.0F;
  const float zero = 0.0F;
  const double one_double = 1.0;
  const double zero_double = 0.0;
  const bool wide = p.type == DataType::fp64;
  const void* const alpha = wide ? static_cast<const void*>(&one_double) : &one;
  const void* const beta =
      p.add ? alpha
            : (wide ? static_cast<const void*>(&zero_double) : static_cast<const void*>(&zero));
  // cuBLAS has columns one after another: to it all matrices are their transposes, and C^T = B^T
  // A^T.
  const cublasOperation_t of_a = p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_b = p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int m = blas_size(p.m, "m");
  const int n = blas_size(p.n, "n");
  const int k = blas_size(p.k, "k");
  const int a_stride = blas_size(p.a.stride, "stride of A");
  const int b_stride = blas_size(p.b.stride, "stride of B");
  const int c_stride = blas_size(p.c_stride, "stride of C");
  // Not a batch of one: cuBLAS may choose otherwise for batches.
  if (p.count == 1) {
    library_.check(library_.gemm(handle_,
                                 of_b,
                                 of_a,
                                 n,
                                 m,
                                 k,
                                 alpha,
                                 p.b.data,
                                 types.factor,
                                 b_stride,
                                 p.a.data,
                                 types.factor,
                                 a_stride,
                                 beta,
                                 p.c,
                                 types.result,
                                 c_stride,
                                 types.compute,
                                 CUBLAS_GEMM_DEFAULT),
                   "cublasGemmEx");
    return;
  }
  library_.check(library_.batched_gemm(handle_,
                                       of_b,
                                       of_a,
                                       n,
                                       m,
                                       k,
                                       alpha,
                                       p.b.data,
                                       types.factor,
                                       b_stride,
                                       p.b.product,
                                       p.a.data,
                                       types.factor,
                                       a_stride,
                                       p.a.product,
                                       beta,
                                       p.c,
                                       types.result,
                                       c_stride,
                                       p.c_product,
                                       blas_size(p.count, "count"),
                                       types.compute,
                                       CUBLAS_GEMM_DEFAULT),
                 "cublasGemmStridedBatchedEx");
}

}  // namespace schedlab::detail
