// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/kernel_stream.hpp"
#include "real_exec/recurrent_device/kernel_arguments.hpp"

namespace schedlab::detail {

// Kernels over whole arrays: sums, the loss, the optimizer, rounding.
void add_column_sums(const DeviceColumnSums& args, KernelStream stream);
void sum_gradients(const DeviceGradientSum& args, KernelStream stream);
void transpose(const DeviceTranspose& args, KernelStream stream);
void add(const DeviceAddition& args, KernelStream stream);
void squared_error(const DeviceLoss& args, KernelStream stream);
void update_weights(const DeviceUpdate& args, KernelStream stream);
/// The nearest bf16 of each element.
void round_to_bf16(const float* from, Bf16* to, long long elements, KernelStream stream);

}  // namespace schedlab::detail
