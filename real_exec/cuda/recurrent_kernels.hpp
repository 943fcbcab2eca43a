// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace schedlab::detail {

// The point-wise kernels of recurrent cells on a device. Matrices are rows one after another, a row
// per sample; `..._stride` are elements from one row to the next. Gates of one row lie side by
// side:
//   LSTM                i, f, g, o                  everywhere
//   GRU                 n, r, z                     Wx, zx
//                       r, z, n                     Wh, zh
//                       n, r, z, a                  what is saved; a = zh + b of n
//                       n, r, z, nr                 dG and biases; nr: of n's recurrent product
//   GRU, reset before   n, r, z / r, z, n / n, r, z / n, r, z
// as on the CPU (recurrent_cells.hpp). Arrays in bf16 are copies of what the next products read;
// nullptr where products read fp32. Elements are read and written four at a time, 16 bytes, where
// `hidden` is a multiple of 4; then so must all strides be.

/// One step forward. Of an LSTM, and of a GRU that resets after the product, without `h` the
/// activations alone are computed.
struct DeviceCellForward {
  const float* products = nullptr;   ///< zx; may be `gates`, and is for cells with a candidate
  float* gates = nullptr;            ///< activations on return
  const float* recurrent = nullptr;  ///< zh
  const float* bias = nullptr;       ///< [biases * hidden]
  const float* before = nullptr;     ///< of an LSTM c, else h, of the step before
  float* c = nullptr;                ///< LSTM
  float* h = nullptr;
  __nv_bfloat16* h_low = nullptr;
  float* reset = nullptr;  ///< GRU, reset before: r * h
  __nv_bfloat16* reset_low = nullptr;
  int rows = 0;
  int hidden = 0;
  int products_stride = 0;
  int gates_stride = 0;
  int recurrent_stride = 0;
  int before_stride = 0;
  int h_stride = 0;
};
void lstm_forward(const DeviceCellForward& args, cudaStream_t stream);
void gru_forward(const DeviceCellForward& args, cudaStream_t stream);
void reset_gates_forward(const DeviceCellForward& args, cudaStream_t stream);
void reset_cell_forward(const DeviceCellForward& args, cudaStream_t stream);

/// One step backward.
struct DeviceCellBackward {
  const float* gates = nullptr;   ///< activations
  const float* c = nullptr;       ///< LSTM
  const float* before = nullptr;  ///< of an LSTM c, else h, of the step before
  // Device code cannot call the members of a std::array.
  const float* upstream[2] = {};          ///< nullptr: none  NOLINT(*-avoid-c-arrays): above
  const float* dh = nullptr;              ///< dG * Wh^T of the step after
  float* carry = nullptr;                 ///< dc, or the direct path of dh; replaced
  const float* reset_gradient = nullptr;  ///< GRU, reset before: d(r * h)
  float* gate_gradients = nullptr;        ///< dG
  __nv_bfloat16* gate_gradients_low = nullptr;
  int rows = 0;
  int hidden = 0;
  int gates_stride = 0;
  int before_stride = 0;
  int upstream_stride = 0;
  int gate_gradients_stride = 0;
};
void lstm_backward(const DeviceCellBackward& args, cudaStream_t stream);
void gru_backward(const DeviceCellBackward& args, cudaStream_t stream);
void reset_candidate_backward(const DeviceCellBackward& args, cudaStream_t stream);
void reset_cell_backward(const DeviceCellBackward& args, cudaStream_t stream);

}  // namespace schedlab::detail
