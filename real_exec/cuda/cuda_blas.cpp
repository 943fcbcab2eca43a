// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_blas.hpp"

#include "real_exec/cuda/lt_products.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

namespace schedlab::detail {
namespace {

BlasTypes blas_types(const BlasProduct& product) {
  const DataType type = product.type;
  switch (type) {
    case DataType::fp32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DataType::bf16:
      return {CUDA_R_16BF, product.low_result ? CUDA_R_16BF : CUDA_R_32F, CUBLAS_COMPUTE_32F};
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

cublasOperation_t operation(const BlasMatrix& factor) {
  return factor.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
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
  if (workspace_.empty()) workspace_ = DeviceArray<std::byte>(workspace_bytes_);
  if (handle_ != nullptr || lt_ != nullptr) return;
  library_.check(library_.create(&handle_), "cublasCreate");
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

void CudaBlas::allow(std::int64_t units) {
  if (units == units_) return;
  library_.check(library_.set_units(handle_, blas_size(units, "units")), "cublasSetSmCountTarget");
  units_ = units;
}

// cuBLAS has columns one after another: to it all matrices are their transposes, and C^T = B^T A^T.

void CudaBlas::multiply_one(const BlasProduct& p,
                            const BlasTypes& types,
                            const void* alpha,
                            const void* beta) const {
  library_.check(library_.gemm(handle_,
                               operation(p.b),
                               operation(p.a),
                               blas_size(p.n, "n"),
                               blas_size(p.m, "m"),
                               blas_size(p.k, "k"),
                               alpha,
                               p.b.data,
                               types.factor,
                               blas_size(p.b.stride, "stride of B"),
                               p.a.data,
                               types.factor,
                               blas_size(p.a.stride, "stride of A"),
                               beta,
                               p.c,
                               types.result,
                               blas_size(p.c_stride, "stride of C"),
                               types.compute,
                               CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
}

void CudaBlas::multiply_batch(const BlasProduct& p,
                              const BlasTypes& types,
                              const void* alpha,
                              const void* beta) const {
  library_.check(library_.batched_gemm(handle_,
                                       operation(p.b),
                                       operation(p.a),
                                       blas_size(p.n, "n"),
                                       blas_size(p.m, "m"),
                                       blas_size(p.k, "k"),
                                       alpha,
                                       p.b.data,
                                       types.factor,
                                       blas_size(p.b.stride, "stride of B"),
                                       p.b.product,
                                       p.a.data,
                                       types.factor,
                                       blas_size(p.a.stride, "stride of A"),
                                       p.a.product,
                                       beta,
                                       p.c,
                                       types.result,
                                       blas_size(p.c_stride, "stride of C"),
                                       p.c_product,
                                       blas_size(p.count, "count"),
                                       types.compute,
                                       CUBLAS_GEMM_DEFAULT),
                 "cublasGemmStridedBatchedEx");
}

void CudaBlas::multiply(const BlasProduct& p, cudaStream_t stream, bool measuring) {
  const BlasTypes types = blas_types(p);
  if (lt_ != nullptr) {
    prepare();
    lt_->multiply(p, types, {workspace_.data(), workspace_.bytes()}, stream, measuring);
    return;
  }
  bind(stream);
  allow(p.units);
  const BlasScalars scalars(p);
  // Not a batch of one: cuBLAS may choose otherwise for batches.
  if (p.count == 1) {
    multiply_one(p, types, scalars.alpha(), scalars.beta());
  } else {
    multiply_batch(p, types, scalars.alpha(), scalars.beta());
  }
}

}  // namespace schedlab::detail
