// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/blas_lt_library.hpp"

#include "real_exec/cuda/toolkit_library.hpp"

#include <cublas_api.h>

namespace schedlab::detail {

BlasLtLibrary::BlasLtLibrary() {
  const LoadedLibrary file = toolkit_library("cuBLASLt", "cublasLt", CUBLAS_VER_MAJOR);
  file.find(create, "cublasLtCreate");
  file.find(destroy, "cublasLtDestroy");
  file.find(make_operation, "cublasLtMatmulDescCreate");
  file.find(destroy_operation, "cublasLtMatmulDescDestroy");
  file.find(set_operation, "cublasLtMatmulDescSetAttribute");
  file.find(make_layout, "cublasLtMatrixLayoutCreate");
  file.find(destroy_layout, "cublasLtMatrixLayoutDestroy");
  file.find(set_layout, "cublasLtMatrixLayoutSetAttribute");
  file.find(make_preference, "cublasLtMatmulPreferenceCreate");
  file.find(destroy_preference, "cublasLtMatmulPreferenceDestroy");
  file.find(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  file.find(suggest, "cublasLtMatmulAlgoGetHeuristic");
  file.find(multiply, "cublasLtMatmul");
}

}  // namespace schedlab::detail
