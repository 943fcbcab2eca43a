// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

namespace schedlab::detail {

/// The functions of cuBLASLt that are used, from a library that is loaded when the first executor
/// that wants it is made. Named by what they make or do.
struct BlasLtLibrary {
  /// Throws DeviceError if the library, or a function in it, is not found.
  BlasLtLibrary();

  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) make_operation = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) make_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) suggest = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
};

}  // namespace schedlab::detail
