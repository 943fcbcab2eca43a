// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/kernel_stream.hpp"
#include "real_exec/recurrent_device/kernel_arguments.hpp"

namespace schedlab::detail {

// The point-wise kernels of recurrent cells. Elements are read and written four at a time, 16
// bytes, where `hidden` is a multiple of 4; then so must all strides be.
void lstm_forward(const DeviceCellForward& args, KernelStream stream);
void gru_forward(const DeviceCellForward& args, KernelStream stream);
void reset_gates_forward(const DeviceCellForward& args, KernelStream stream);
void reset_cell_forward(const DeviceCellForward& args, KernelStream stream);
void lstm_backward(const DeviceCellBackward& args, KernelStream stream);
void gru_backward(const DeviceCellBackward& args, KernelStream stream);
void reset_candidate_backward(const DeviceCellBackward& args, KernelStream stream);
void reset_cell_backward(const DeviceCellBackward& args, KernelStream stream);

}  // namespace schedlab::detail
