// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstdint>

namespace schedlab {

/// Shapes of one LSTM layer, in elements. `width` is that of the layer's input.
struct LstmShape {
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  DataType type = DataType::fp32;

  [[nodiscard]] std::int64_t gates() const { return 4 * hidden; }
  /// Wx[width, gates], Wh[hidden, gates], b[gates]
  [[nodiscard]] std::int64_t parameters() const { return gates() * (width + hidden + 1); }
};

// The kernels of one node. A sum, product, sigmoid or hyperbolic tangent of one element counts as
// one FLOP. Point-wise kernels read each operand and write each result once.

/// z = zx + zh + b (4 gates: 8), 4 activations, c = f * c + i * g (3), h = o * tanh(c) (2): 17 FLOP
/// per hidden element. Reads zx, zh, b, c(t-1); writes the 4 gates, c, h.
[[nodiscard]] Kernel cell_forward_kernel(const LstmShape& shape);
/// zx[batch, gates] = x[batch, width] * Wx
[[nodiscard]] Kernel input_kernel(const LstmShape& shape);
/// zh[batch, gates] = h(t-1)[batch, hidden] * Wh
[[nodiscard]] Kernel recurrent_kernel(const LstmShape& shape);

/// dh = dx + dh (1), tanh(c) (1), do = dh * tanh(c) (1), dc += dh * o * (1 - tanh(c)^2) (5), di =
/// dc * g, dg = dc * i, df = dc * c(t-1), dc(t-1) = dc * f (4), through three sigmoids s * (1 - s)
/// (9) and one hyperbolic tangent 1 - g^2 (3): 24 FLOP per hidden element. Reads the 4 gates, c,
/// c(t-1), dx, dh, dc; writes dG (4), dc.
[[nodiscard]] Kernel cell_kernel(const LstmShape& shape);
/// dh(t-1)[batch, hidden] = dG[batch, gates] * Wh^T
[[nodiscard]] Kernel hidden_1_kernel(const LstmShape& shape);
/// dx[batch, width] = dG * Wx^T
[[nodiscard]] Kernel hidden_2_kernel(const LstmShape& shape);
/// dWx[width, gates] += x^T[width, steps * batch] * dG
[[nodiscard]] Kernel weight_1_kernel(const LstmShape& shape, std::int64_t steps);
/// dWh[hidden, gates] += h(t-1)^T * dG; with `bias`, the column sums of dG are added to db by the
/// same kernel (one FLOP per element of dG; dG is in registers already, so only db is read and
/// written on top).
[[nodiscard]] Kernel weight_2_kernel(const LstmShape& shape, std::int64_t steps, bool bias);
/// db[gates] += column sums of dG, as a kernel of its own
[[nodiscard]] Kernel bias_kernel(const LstmShape& shape, std::int64_t steps);
/// Sums `buffers` buffers of `elements` into the first: (buffers - 1) FLOP per element.
[[nodiscard]] Kernel reduce_kernel(std::int64_t elements, std::int64_t buffers, DataType type);
/// Gradient descent, w -= rate * dw: 2 FLOP per parameter; reads w and dw, writes w.
[[nodiscard]] Kernel update_kernel(const LstmShape& shape);
/// Squared error over the outputs of all steps: difference, square, sum, scaled derivative: 4 FLOP
/// per element. Reads the outputs and the targets; writes dy of the same size and the loss.
[[nodiscard]] Kernel loss_kernel(const LstmShape& shape, std::int64_t steps);
/// A copy of `bytes` between host and device.
[[nodiscard]] Kernel copy_kernel(TaskKind direction, std::int64_t bytes, DataType type);

}  // namespace schedlab
