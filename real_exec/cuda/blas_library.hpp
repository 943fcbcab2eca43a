// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>

namespace schedlab::detail {

/// The functions of cuBLAS that are used, from a library that is loaded when the first executor is
/// made: a program without it, or without a device, still starts. Thread-safe.
class BlasLibrary {
 public:
  /// Throws DeviceError if the library, or a function in it, is not found.
  BlasLibrary();
  BlasLibrary(const BlasLibrary&) = delete;
  BlasLibrary& operator=(const BlasLibrary&) = delete;
  /// The library stays in memory: it holds state in the device's context, which may go later.
  ~BlasLibrary() = default;

  /// Throws DeviceError with call and status unless `status` is success.
  void check(cublasStatus_t status, const char* call) const;

  // Named as cuBLAS names them.
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetSmCountTarget) set_units = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
  cublasStatus_t (*gemm)(cublasHandle_t,
                         cublasOperation_t,
                         cublasOperation_t,
                         int,
                         int,
                         int,
                         const void*,
                         const void*,
                         cudaDataType,
                         int,
                         const void*,
                         cudaDataType,
                         int,
                         const void*,
                         void*,
                         cudaDataType,
                         int,
                         cublasComputeType_t,
                         cublasGemmAlgo_t) = nullptr;  ///< cublasGemmEx
  cublasStatus_t (*batched_gemm)(cublasHandle_t,
                                 cublasOperation_t,
                                 cublasOperation_t,
                                 int,
                                 int,
                                 int,
                                 const void*,
                                 const void*,
                                 cudaDataType,
                                 int,
                                 long long,
                                 const void*,
                                 cudaDataType,
                                 int,
                                 long long,
                                 const void*,
                                 void*,
                                 cudaDataType,
                                 int,
                                 long long,
                                 int,
                                 cublasComputeType_t,
                                 cublasGemmAlgo_t) = nullptr;  ///< cublasGemmStridedBatchedEx
};

}  // namespace schedlab::detail
