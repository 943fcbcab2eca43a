// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_blas.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/lt_products.hpp"
#include "real_exec/executor/device_backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace schedlab::detail {

/// What an executor and its works share of a device.
struct CudaContext {
  int device = 0;
  DeviceProperties properties;
  std::size_t shared_memory_per_block = 0;  ///< that a kernel may ask for at most, in bytes
  std::size_t workspace_bytes = 0;          ///< of each handle of cuBLAS
  std::size_t cache_bytes = 0;              ///< of the last-level cache
  std::unique_ptr<const BlasLibrary> blas;
  std::unique_ptr<LtProducts> lt;  ///< nullptr: products are cuBLAS's
  /// Of a multiprocessor under load, measured by the first work that spins.
  mutable std::optional<double> cycles_per_us;

  /// Makes the device that of the calling thread.
  void use() const;
};

/// The executor's, made that of the calling thread.
[[nodiscard]] std::shared_ptr<const CudaContext> used_context(const CudaExecutor& executor);

/// A function of the driver, found by its name when the program runs; nullptr: it has none.
[[nodiscard]] void* driver_function(const char* name);

/// Makes the context on the device that the options name, with what they say of connections and
/// products.
/// Throws DeviceError with the reason if there is no such device, or if it is in use already with
/// another number of connections; InputError for connections outside 1 to 32.
[[nodiscard]] std::shared_ptr<const CudaContext> make_cuda_context(
    const CudaExecutorOptions& options);

}  // namespace schedlab::detail
