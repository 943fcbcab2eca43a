// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_blas.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_handles.hpp"

#include <cstddef>
#include <cstdint>

namespace schedlab::detail {

/// The state that every timed run on a device begins in, whoever's it is: clocks as under load,
/// caches without anything that a run reads.
class SteadyState {
 public:
  /// Takes four times the last-level cache of the device's memory, and some. Throws DeviceError.
  explicit SteadyState(const CudaContext& context);

  /// Multiplies matrices for 3 ms, then writes four times the last-level cache; returns when the
  /// device is idle.
  void enter();

 private:
  std::int64_t side_ = 0;
  CudaStream stream_;
  CudaBlas blas_;
  DeviceArray<float> factors_;
  DeviceArray<float> product_;
  DeviceArray<std::byte> flushed_;
};

}  // namespace schedlab::detail
