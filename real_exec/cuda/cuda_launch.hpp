// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_blas.hpp"
#include "real_exec/cuda/kernel_stream.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

namespace schedlab::detail {

/// Where a task of a CudaWork puts what it launches.
struct CudaLaunch {
  cudaStream_t stream = nullptr;
  CudaBlas& blas;  ///< no other task that may run at the same time has it
  /// The stream is being captured: nothing may be allocated, waited for or copied from pageable
  /// memory.
  bool capturing = false;
  /// The stream's own number, which no other one gets; nullopt: what is launched is ordered by what
  /// it needs alone.
  std::optional<std::uint32_t> stream_number{};
  /// Before the run: a product may be computed several times and waited for, so that a library can
  /// choose. What it adds to is wrong afterwards, other results are right.
  bool measuring = false;
  bool programmatic = false;  ///< its kernels, as far as they are not a library's

  [[nodiscard]] KernelStream kernels() const { return {stream, programmatic}; }
  void multiply(const BlasProduct& product) const { blas.multiply(product, stream, measuring); }
};

}  // namespace schedlab::detail
