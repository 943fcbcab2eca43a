// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/kernel_arguments.hpp"

#include <cuda_runtime_api.h>

namespace schedlab::detail {

// The point-wise kernels of recurrent cells. Elements are read and written four at a time, 16
// bytes, where `hidden` is a multiple of 4; then so must all strides be.
void lstm_forward(const DeviceCellForward& args, cudaStream_t stream);
void gru_forward(const DeviceCellForward& args, cudaStream_t stream);
void reset_gates_forward(const DeviceCellForward& args, cudaStream_t stream);
void reset_cell_forward(const DeviceCellForward& args, cudaStream_t stream);
void lstm_backward(const DeviceCellBackward& args, cudaStream_t stream);
void gru_backward(const DeviceCellBackward& args, cudaStream_t stream);
void reset_candidate_backward(const DeviceCellBackward& args, cudaStream_t stream);
void reset_cell_backward(const DeviceCellBackward& args, cudaStream_t stream);

}  // namespace schedlab::detail
