// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands in the place of the header of this name where kernels are compiled for the host: threads
// of a block are contexts of their own, which go on in turn at __syncthreads().

#include "real_exec/cuda/kernel_stream.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <functional>

#undef __shared__
#define __shared__ static

namespace schedlab::detail {

struct KernelShape {
  dim3 blocks{1};
  dim3 threads{1};
  KernelStream stream = nullptr;
  std::size_t shared_memory = 0;
};

inline dim3 gridDim, blockDim;     // NOLINT(readability-identifier-naming): CUDA's names
inline uint3 blockIdx, threadIdx;  // NOLINT(readability-identifier-naming): CUDA's names

inline void await_predecessor() {}
void __syncthreads();  // NOLINT(bugprone-reserved-identifier): CUDA's name
/// Runs `thread` for every thread of every block.
void run_grid(const KernelShape& shape, const std::function<void()>& thread);

template <class... Params, class... Args>
void launch_kernel(const char* /*name*/,
                   void (*kernel)(Params...),
                   const KernelShape& shape,
                   const Args&... args) {
  if (shape.stream.programmatic) testing::count_programmatic_launch();
  testing::enqueue(
      shape.stream.handle, [=] { run_grid(shape, [=] { kernel(args...); }); }, true);
}

}  // namespace schedlab::detail
