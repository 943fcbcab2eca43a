// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_check.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab::detail {

void check_cuda(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(
      fmt::format("{}: {} ({})", call, cudaGetErrorName(status), cudaGetErrorString(status)));
}

void check_launch(std::string_view kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) [[unlikely]]
    check_cuda(status, fmt::format("launch of kernel {}", kernel));
}

}  // namespace schedlab::detail
