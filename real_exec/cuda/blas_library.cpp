// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/blas_library.hpp"

#include "real_exec/cuda/toolkit_library.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab::detail {
BlasLibrary::BlasLibrary() {
  const LoadedLibrary file = toolkit_library("cuBLAS", "cublas", CUBLAS_VER_MAJOR);
  file.find(create, "cublasCreate_v2");
  file.find(destroy, "cublasDestroy_v2");
  file.find(set_stream, "cublasSetStream_v2");
  file.find(set_workspace, "cublasSetWorkspace_v2");
  file.find(set_units, "cublasSetSmCountTarget");
  file.find(status_string, "cublasGetStatusString");
  file.find(gemm, "cublasGemmEx");
  file.find(batched_gemm, "cublasGemmStridedBatchedEx");
}

void BlasLibrary::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: {}", call, status_string(status)));
}

}  // namespace schedlab::detail
