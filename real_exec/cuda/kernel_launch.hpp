// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_check.hpp"
#include "real_exec/cuda/kernel_stream.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace schedlab::detail {

struct KernelShape {
  dim3 blocks{1};
  dim3 threads{1};
  KernelStream stream = nullptr;
  std::size_t shared_memory = 0;  ///< bytes of each block, besides what the kernel itself declares
};

/// At the head of every kernel: lets a kernel behind it that is launched programmatically take free
/// units, and waits until the one before it is complete and its results are there. Nothing of both
/// where they were launched plainly.
__device__ inline void await_predecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

/// The one place where kernels are launched, so that tests can run them without a device. Throws
/// DeviceError with the kernel's name.
template <class... Params, class... Args>
void launch_kernel(const char* name,
                   void (*kernel)(Params...),
                   const KernelShape& shape,
                   const Args&... args) {
  if (!shape.stream.programmatic) {
    kernel<<<shape.blocks, shape.threads, shape.shared_memory, shape.stream.handle>>>(args...);
    return check_launch(name);
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_memory;
  config.stream = shape.stream.handle;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, kernel, args...), name);
}

}  // namespace schedlab::detail
