// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

inline int nvtxRangePushA(const char* name) {
  recording::state().ranges.emplace_back(name);
  recording::note("push %s", name);
  return 0;
}
inline int nvtxRangePop() {
  recording::note("pop %s", recording::range());
  recording::state().ranges.pop_back();
  return 0;
}
inline void nvtxNameCudaStreamA(cudaStream_t stream, const char* name) {
  recording::note("name %d %s", recording::of(stream)->number, name);
}
