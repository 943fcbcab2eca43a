// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstdint>

namespace schedlab {

/// The recurrent cells there are.
enum class RecurrentCell : std::uint8_t {
  lstm,
  gru,               ///< reset gate applied after the recurrent product, as cuDNN and frameworks do
  gru_reset_before,  ///< reset gate applied to h before the product (Cho et al., arXiv 1406.1078)
};

/// What distinguishes cells, in multiples of `hidden`.
struct RecurrentCellShape {
  std::int64_t gates = 0;            ///< columns of Wx and Wh
  std::int64_t recurrent_gates = 0;  ///< of them multiplied with h(t-1) in one product
  std::int64_t candidate_gates = 0;  ///< of them multiplied with r * h(t-1), after the gates
  std::int64_t gate_gradients = 0;   ///< elements of dG kept for the weight gradients
  std::int64_t biases = 0;           ///< as many as are mathematically distinct
  std::int64_t saved_gates = 0;      ///< activations kept for backward besides h (and c)
  bool cell_state = false;           ///< c besides h
};
[[nodiscard]] const RecurrentCellShape& cell_shape(RecurrentCell cell);

/// Shapes of one direction of one recurrent layer, in elements. `width` is that of its input.
struct RecurrentShape {
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  DataType type = DataType::fp32;
  RecurrentCell cell = RecurrentCell::lstm;
  std::int64_t projection =
      0;  ///< width of h, of an LSTM whose o * tanh(c) is projected; 0: hidden

  /// Width of h, which is the layer's output.
  [[nodiscard]] std::int64_t output() const { return projection > 0 ? projection : hidden; }
  /// Columns of Wx[width, gates] and Wh[output, gates].
  [[nodiscard]] std::int64_t gates() const { return cell_shape(cell).gates * hidden; }
  [[nodiscard]] std::int64_t biases() const { return cell_shape(cell).biases * hidden; }
  [[nodiscard]] std::int64_t parameters() const {
    return gates() * (width + output()) + biases() + hidden * projection;
  }
};

// The kernels of one node. A sum, product, sigmoid or hyperbolic tangent of one element counts as
// one FLOP. Point-wise kernels read each operand and write each result once. `upstream`: gradients
// of h that come from outside the chain and are summed: from the layer above one per direction.

/// LSTM: z = zx + zh + b (4 gates: 8), 4 activations, c = f * c + i * g (3), h = o * tanh(c) (2):
/// 17 FLOP per hidden element. Reads zx, zh, b, c(t-1); writes the 4 gates, c, h. GRU: r and z as
/// in the LSTM (6), n = tanh(zx + b + r * (zh + b)) (5), h = n + z * (h - n) (3):
/// 14. Reads zx, zh, b, h(t-1); writes r, z, n, zh + b of n, and h.
/// GRU, reset before: n = tanh(zx + zc + b) (3), h (3): 6. Reads zx, zc, b of n, z, h(t-1); writes
/// n, h.
[[nodiscard]] Kernel cell_forward_kernel(const RecurrentShape& shape);
/// The values of cell_forward_kernel() without the state: LSTM 12 FLOP, reads zx, zh, b, writes the
/// 4 gates; GRU 11, reads zx, zh, b, writes r, z, n, zh + b of n; GRU, reset before: 3, reads zx,
/// zc, b of n, writes n.
/// LSTM with projection: 14, as o * tanh(c) is computed again, too; reads c, writes o * tanh(c).
[[nodiscard]] Kernel cell_values_kernel(const RecurrentShape& shape);
/// zx[batch, gates] = x[batch, width] * Wx
[[nodiscard]] Kernel input_kernel(const RecurrentShape& shape);
/// zh[batch, recurrent gates] = h(t-1)[batch, output] * Wh
[[nodiscard]] Kernel recurrent_kernel(const RecurrentShape& shape);
/// GRU, reset before: r and z (6), r * h(t-1) (1): 7. Reads zx, zh, b of both gates, h(t-1); writes
/// r, z, r * h.
[[nodiscard]] Kernel gates_forward_kernel(const RecurrentShape& shape);
/// GRU, reset before: zc[batch, hidden] = (r * h(t-1)) * Wh, columns of the candidate
[[nodiscard]] Kernel candidate_kernel(const RecurrentShape& shape);
/// LSTM with projection: h[batch, projection] = m[batch, hidden] * Wp, m = o * tanh(c)
[[nodiscard]] Kernel projection_kernel(const RecurrentShape& shape);

/// LSTM: dh = dx + dh (1 per upstream), tanh(c) (1), do = dh * tanh(c) (1), dc += dh * o * (1 -
/// tanh(c)^2) (5), di = dc * g, dg = dc * i, df = dc * c(t-1), dc(t-1) = dc * f (4), through three
/// sigmoids s * (1 - s) (9) and one hyperbolic tangent 1 - g^2 (3): 24 FLOP per hidden element with
/// one upstream. Reads the 4 gates, c, c(t-1), dx, dh, dc; writes dG (4), dc.
/// GRU: dh as above and the direct path (1), dn = dh * (1 - z) * (1 - n^2) (5), dz = dh * (h - n) *
/// z * (1 - z) (5), dr = dn * a * r * (1 - r) (4), dn * r (1), dh * z (1): 18. Reads r, z, n, a,
/// h(t-1), dx, dh, the direct path; writes dr, dz, dn, dn * r and the direct path.
/// GRU, reset before: dr = drh * h * r * (1 - r) (4), direct path += drh * r (2): 6. Reads drh,
/// h(t-1), r, the direct path; writes dr and the direct path.
/// `slices`: parts of dh that are summed (1 FLOP and one element read for each beyond the first).
[[nodiscard]] Kernel cell_kernel(const RecurrentShape& shape,
                                 std::int64_t upstream,
                                 std::int64_t slices = 1);
/// GRU, reset before: dh (1 per upstream and 1), dn (5), dz (5), direct path (1): 13 with one
/// upstream. Reads z, n, h(t-1), dx, dh, the direct path; writes dn, dz, the direct path.
[[nodiscard]] Kernel candidate_cell_kernel(const RecurrentShape& shape,
                                           std::int64_t upstream,
                                           std::int64_t slices = 1);
/// GRU, reset before: drh[batch, hidden] = dn * Wh^T, columns of the candidate
[[nodiscard]] Kernel candidate_gradient_kernel(const RecurrentShape& shape);
/// LSTM with projection: dp[batch, projection], the sum of dh and of the gradients from above (1
/// FLOP per element of each beyond the first).
[[nodiscard]] Kernel projection_sum_kernel(const RecurrentShape& shape,
                                           std::int64_t upstream,
                                           std::int64_t slices = 1);
/// LSTM with projection: dm[batch, hidden] = dp * Wp^T, all that its cell is given
[[nodiscard]] Kernel projection_gradient_kernel(const RecurrentShape& shape);
/// dh(t-1)[batch, output] = dG[batch, recurrent gates] * Wh^T; `slices`: products side by side,
/// each over its part of the recurrent gates, and a result of each.
[[nodiscard]] Kernel hidden_1_kernel(const RecurrentShape& shape, std::int64_t slices = 1);
/// dx[steps * batch, width] = dG[steps * batch, gates] * Wx^T
[[nodiscard]] Kernel hidden_2_kernel(const RecurrentShape& shape, std::int64_t steps = 1);
/// dWx[width, gates] += x^T[width, steps * batch] * dG
[[nodiscard]] Kernel weight_1_kernel(const RecurrentShape& shape, std::int64_t steps);
/// dWh[output, recurrent gates] += h(t-1)^T * dG; with `bias`, the column sums of dG are added to
/// db by the same kernel (one FLOP per element; dG is in registers already, so only db is read and
/// written on top).
[[nodiscard]] Kernel weight_2_kernel(const RecurrentShape& shape, std::int64_t steps, bool bias);
/// GRU, reset before: dWh[hidden, hidden] += (r * h(t-1))^T * dn. LSTM with projection:
/// dWp[hidden, projection] += m^T * dp.
[[nodiscard]] Kernel weight_3_kernel(const RecurrentShape& shape, std::int64_t steps);
/// db[biases] += column sums of dG, as a kernel of its own
[[nodiscard]] Kernel bias_kernel(const RecurrentShape& shape, std::int64_t steps);

/// The transpose of a matrix of so many elements, as a copy: no FLOP; reads and writes each once.
[[nodiscard]] Kernel transpose_kernel(std::int64_t elements, DataType type);

/// A point-wise kernel; sizes in elements.
[[nodiscard]] Kernel pointwise_kernel(DataType type,
                                      double flops,
                                      std::int64_t read,
                                      std::int64_t written);
/// Sums `buffers` buffers of `elements` into the first: (buffers - 1) FLOP per element.
[[nodiscard]] Kernel reduce_kernel(std::int64_t elements, std::int64_t buffers, DataType type);
/// Gradient descent, w -= rate * dw: 2 FLOP per parameter; reads w and dw, writes w.
[[nodiscard]] Kernel update_kernel(std::int64_t parameters, DataType type);
/// Squared error over `elements` outputs: difference, square, sum, scaled derivative: 4 FLOP per
/// element. Reads the outputs and the targets; writes dy of the same size and the loss.
[[nodiscard]] Kernel loss_kernel(std::int64_t elements, DataType type);
/// A copy of `bytes` between host and device.
[[nodiscard]] Kernel copy_kernel(TaskKind direction, std::int64_t bytes, DataType type);

}  // namespace schedlab
