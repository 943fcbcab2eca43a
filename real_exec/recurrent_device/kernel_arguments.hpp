// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace schedlab::detail {

// What the kernels of recurrent cells are given on any device, and which they are. Matrices are
// rows one after another, a row per sample; `..._stride` are elements from one row to the next.
// Gates of one row lie side by side:
//   LSTM                i, f, g, o                  everywhere
//   GRU                 n, r, z                     Wx, zx
//                       r, z, n                     Wh, zh
//                       n, r, z, a                  what is saved; a = zh + b of n
//                       n, r, z, nr                 dG and biases; nr: of n's recurrent product
//   GRU, reset before   n, r, z / r, z, n / n, r, z / n, r, z
// as on the CPU (recurrent_cells.hpp). An array is in fp32, or in bf16 and called `..._low`; the
// other pointer is nullptr. Kernels compute in fp32. Elements are read and written four at a time,
// 16 bytes, where `hidden` is a multiple of 4; then so must all strides be.

/// A number in bf16, as bits; a device has its own type for it.
struct Bf16 {
  unsigned short bits;
};

/// One step forward. Of an LSTM, and of a GRU that resets after the product, without `h` (and
/// `h_low`) the activations alone are computed; of an LSTM without `before` h, too, of the c that
/// is there. `h` is o * tanh(c) of an LSTM with projection.
struct DeviceCellForward {
  const float* products = nullptr;  ///< zx; may be `gates`, and is for cells with a candidate
  const Bf16* products_low = nullptr;
  float* gates = nullptr;  ///< activations on return
  Bf16* gates_low = nullptr;
  const float* recurrent = nullptr;  ///< zh
  const float* bias = nullptr;       ///< [biases * hidden]
  const float* before = nullptr;     ///< of an LSTM c, else h, of the step before
  const Bf16* before_low = nullptr;  ///< h
  float* c = nullptr;                ///< LSTM
  float* h = nullptr;
  Bf16* h_low = nullptr;
  float* reset = nullptr;  ///< GRU, reset before: r * h
  Bf16* reset_low = nullptr;
  int rows = 0;
  int hidden = 0;
  int products_stride = 0;
  int gates_stride = 0;
  int recurrent_stride = 0;
  int before_stride = 0;
  int h_stride = 0;
};
/// One step backward.
struct DeviceCellBackward {
  const float* gates = nullptr;  ///< activations
  const Bf16* gates_low = nullptr;
  const float* c = nullptr;          ///< LSTM
  const float* before = nullptr;     ///< of an LSTM c, else h, of the step before
  const Bf16* before_low = nullptr;  ///< h
  // Device code cannot call the members of a std::array.
  const float* upstream[2] = {};          ///< nullptr: none  NOLINT(*-avoid-c-arrays): above
  const Bf16* upstream_low[2] = {};       // NOLINT(*-avoid-c-arrays): as above
  const float* dh = nullptr;              ///< dG * Wh^T of the step after: slices [rows, hidden]
  float* carry = nullptr;                 ///< dc, or the direct path of dh; replaced
  const float* reset_gradient = nullptr;  ///< GRU, reset before: d(r * h)
  float* gate_gradients = nullptr;        ///< dG
  Bf16* gate_gradients_low = nullptr;
  int rows = 0;
  int hidden = 0;
  int slices = 1;  ///< of dh, to be summed
  int gates_stride = 0;
  int before_stride = 0;
  int upstream_stride = 0;
  int gate_gradients_stride = 0;
};
/// to[row, column] = the sum of the gradients from above and of slices of dh [rows, columns].
struct DeviceGradientSum {
  float* to = nullptr;
  Bf16* to_low = nullptr;
  const float* upstream[2] = {};     ///< nullptr: none  NOLINT(*-avoid-c-arrays): as above
  const Bf16* upstream_low[2] = {};  // NOLINT(*-avoid-c-arrays): as above
  const float* dh = nullptr;
  int rows = 0;
  int columns = 0;
  int slices = 1;
  int upstream_stride = 0;
};
/// sums[column] += the sum over rows of D[row, column], in an order that does not change.
struct DeviceColumnSums {
  const float* d = nullptr;
  const Bf16* d_low = nullptr;
  float* sums = nullptr;
  int rows = 0;
  int columns = 0;
  int stride = 0;
};
/// to[column, row] = from[row, column].
struct DeviceTranspose {
  const float* from = nullptr;
  const Bf16* from_low = nullptr;
  float* to = nullptr;
  Bf16* to_low = nullptr;
  int rows = 0;
  int columns = 0;
  int from_stride = 0;
  int to_stride = 0;
};
/// to[row, column] += from[row, column].
struct DeviceAddition {
  float* to = nullptr;
  const float* from = nullptr;
  int rows = 0;
  int columns = 0;
  int stride = 0;  ///< of both
};
/// dy = scale (y - target), and loss = sum((y - target)^2) / (2 divisor), summed in fp64 in an
/// order that does not change. Of rows with a length only that many steps count, and dy is 0
/// beyond. `parts`: scratch of loss_parts elements.
inline constexpr int loss_parts = 256;
struct DeviceLoss {
  const float* y = nullptr;  ///< [steps, batch, columns]
  const Bf16* y_low = nullptr;
  const float* const* y_steps = nullptr;       ///< in place of y: where each step lies
  const float* const* host_y_steps = nullptr;  ///< the same list, in the host's memory
  const float* target = nullptr;
  float* dy = nullptr;
  double* parts = nullptr;
  float* loss = nullptr;
  const int* lengths = nullptr;  ///< by row; nullptr: all steps count
  long long elements = 0;
  int batch = 0;
  int columns = 0;
  float scale = 0.0F;
  double divisor = 1.0;
};
/// One step of the optimizer; sgd: w -= rate * g.
struct DeviceUpdate {
  float* w = nullptr;
  Bf16* w_low = nullptr;
  const float* gradient = nullptr;
  float* mean = nullptr;      ///< adam: m
  float* variance = nullptr;  ///< adam: v; both nullptr: sgd
  float rate = 0.0F;
  long long elements = 0;
};
}  // namespace schedlab::detail
