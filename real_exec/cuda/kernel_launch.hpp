// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_check.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace schedlab::detail {

struct KernelShape {
  dim3 blocks{1};
  dim3 threads{1};
  cudaStream_t stream = nullptr;
  std::size_t shared_memory = 0;  ///< bytes of each block, besides what the kernel itself declares
};

/// The one place where kernels are launched, so that tests can run them without a device. Throws
/// DeviceError with the kernel's name.
template <class... Params, class... Args>
void launch_kernel(const char* name,
                   void (*kernel)(Params...),
                   const KernelShape& shape,
                   const Args&... args) {
  kernel<<<shape.blocks, shape.threads, shape.shared_memory, shape.stream>>>(args...);
  check_launch(name);
}

}  // namespace schedlab::detail
