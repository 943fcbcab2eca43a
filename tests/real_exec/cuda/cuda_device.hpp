// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_executor.hpp"
#include "tests/support/skip.hpp"

namespace schedlab::testing {

/// Without a CUDA device: skips the test case, which must then return.
[[nodiscard]] inline bool device_missing() {
  const CudaAvailability found = cuda_available();
  if (!found.available) skip(found.reason);
  return !found.available;
}

}  // namespace schedlab::testing
