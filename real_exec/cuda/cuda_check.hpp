// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace schedlab::detail {

/// Throws DeviceError with the call, the error's name and its text unless `status` is success; an
/// error that does not stay is cleared. std::bad_alloc is not thrown: memory of a device that runs
/// out is a DeviceError too.
void check_cuda(cudaError_t status, std::string_view call);

/// Throws DeviceError if the kernel that was just launched with <<<>>> could not be.
void check_launch(std::string_view kernel);

}  // namespace schedlab::detail
