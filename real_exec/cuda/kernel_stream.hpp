// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace schedlab::detail {

/// The stream that a kernel of ours is launched into, and how.
struct KernelStream {
  // NOLINTNEXTLINE(google-explicit-constructor): a stream is the usual way
  KernelStream(cudaStream_t stream, bool programmatic_launch = false)
      : handle(stream), programmatic(programmatic_launch) {}

  cudaStream_t handle = nullptr;
  /// It may start while the kernel before it in the stream drains (programmatic stream
  /// serialization); all kernels of ours wait for that one at their head.
  bool programmatic = false;
};

}  // namespace schedlab::detail
