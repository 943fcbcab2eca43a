// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/kernel_arguments.hpp"

#include <cuda_runtime_api.h>

namespace schedlab::detail {

// Kernels over whole arrays: sums, the loss, the optimizer, rounding.
void add_column_sums(const DeviceColumnSums& args, cudaStream_t stream);
void sum_gradients(const DeviceGradientSum& args, cudaStream_t stream);
void add(const DeviceAddition& args, cudaStream_t stream);
void squared_error(const DeviceLoss& args, cudaStream_t stream);
void update_weights(const DeviceUpdate& args, cudaStream_t stream);
/// The nearest bf16 of each element.
void round_to_bf16(const float* from, Bf16* to, long long elements, cudaStream_t stream);

}  // namespace schedlab::detail
