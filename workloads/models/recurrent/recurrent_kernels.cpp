// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <array>
#include <cstddef>

namespace schedlab {
namespace {

// In the order of the enumerators.
constexpr std::array<RecurrentCellShape, 3> cells{
    {{.gates = 4,
      .recurrent_gates = 4,
      .candidate_gates = 0,
      .gate_gradients = 4,
      .biases = 4,
      .saved_gates = 4,
      .cell_state = true},
     // dn and dn * r are both kept; the candidate has a bias on either side of the reset gate.
     {.gates = 3,
      .recurrent_gates = 3,
      .candidate_gates = 0,
      .gate_gradients = 4,
      .biases = 4,
      .saved_gates = 4,
      .cell_state = false},
     {.gates = 3,
      .recurrent_gates = 2,
      .candidate_gates = 1,
      .gate_gradients = 3,
      .biases = 3,
      .saved_gates = 2,
      .cell_state = false}}};

/// Point-wise work per hidden element: FLOPs, elements read and written.
struct PerElement {
  std::int64_t flops = 0;
  std::int64_t read = 0;
  std::int64_t written = 0;
  std::int64_t bias_gates = 0;  ///< biases read once, in multiples of hidden
};

Kernel per_element(const RecurrentShape& s, const PerElement& work) {
  const std::int64_t elements = s.batch * s.hidden;
  return pointwise_kernel(s.type,
                          static_cast<double>(work.flops) * static_cast<double>(elements),
                          work.read * elements + work.bias_gates * s.hidden,
                          work.written * elements);
}

}  // namespace

const RecurrentCellShape& cell_shape(RecurrentCell cell) {
  return cells[static_cast<std::size_t>(cell)];
}

Kernel pointwise_kernel(DataType type, double flops, std::int64_t read, std::int64_t written) {
  const std::int64_t size = bytes_per_element(type);
  return Kernel{.kind = TaskKind::pointwise,
                .type = type,
                .flops = Flops{flops},
                .bytes_read = Bytes{read * size},
                .bytes_written = Bytes{written * size}};
}

Kernel cell_forward_kernel(const RecurrentShape& s) {
  switch (s.cell) {
    case RecurrentCell::gru:
      return per_element(s, {.flops = 14, .read = 7, .written = 5, .bias_gates = 4});
    case RecurrentCell::gru_reset_before:
      return per_element(s, {.flops = 6, .read = 4, .written = 2, .bias_gates = 1});
    default:
      return per_element(s, {.flops = 17, .read = 9, .written = 6, .bias_gates = 4});
  }
}

Kernel cell_values_kernel(const RecurrentShape& s) {
  switch (s.cell) {
    case RecurrentCell::gru:
      return per_element(s, {.flops = 11, .read = 6, .written = 4, .bias_gates = 4});
    case RecurrentCell::gru_reset_before:
      return per_element(s, {.flops = 3, .read = 2, .written = 1, .bias_gates = 1});
    default:
      if (s.projection > 0) {
        return per_element(s, {.flops = 14, .read = 9, .written = 5, .bias_gates = 4});
      }
      return per_element(s, {.flops = 12, .read = 8, .written = 4, .bias_gates = 4});
  }
}

Kernel input_kernel(const RecurrentShape& s) {
  return gemm_kernel(s.batch, s.gates(), s.width, s.type, false);
}

Kernel recurrent_kernel(const RecurrentShape& s) {
  return gemm_kernel(
      s.batch, cell_shape(s.cell).recurrent_gates * s.hidden, s.output(), s.type, false);
}

Kernel gates_forward_kernel(const RecurrentShape& s) {
  return per_element(s, {.flops = 7, .read = 5, .written = 3, .bias_gates = 2});
}

Kernel candidate_kernel(const RecurrentShape& s) {
  return gemm_kernel(s.batch, s.hidden, s.hidden, s.type, false);
}

Kernel projection_kernel(const RecurrentShape& s) {
  return gemm_kernel(s.batch, s.projection, s.hidden, s.type, false);
}

Kernel projection_sum_kernel(const RecurrentShape& s, std::int64_t upstream, std::int64_t slices) {
  const std::int64_t elements = s.batch * s.projection;
  const std::int64_t terms = upstream + slices;
  return pointwise_kernel(s.type,
                          static_cast<double>(terms - 1) * static_cast<double>(elements),
                          terms * elements,
                          elements);
}

Kernel projection_gradient_kernel(const RecurrentShape& s) {
  return gemm_kernel(s.batch, s.hidden, s.projection, s.type, false);
}

Kernel cell_kernel(const RecurrentShape& s, std::int64_t upstream, std::int64_t slices) {
  const std::int64_t more = upstream + slices - 1;
  switch (s.cell) {
    case RecurrentCell::gru:
      return per_element(s, {.flops = 17 + more, .read = 7 + more, .written = 5, .bias_gates = 0});
    case RecurrentCell::gru_reset_before:
      return per_element(s, {.flops = 6, .read = 4, .written = 2, .bias_gates = 0});
    default:
      return per_element(s, {.flops = 23 + more, .read = 8 + more, .written = 5, .bias_gates = 0});
  }
}

Kernel candidate_cell_kernel(const RecurrentShape& s, std::int64_t upstream, std::int64_t slices) {
  const std::int64_t more = upstream + slices - 1;
  return per_element(s, {.flops = 12 + more, .read = 5 + more, .written = 3, .bias_gates = 0});
}

Kernel candidate_gradient_kernel(const RecurrentShape& s) {
  return gemm_kernel(s.batch, s.hidden, s.hidden, s.type, false);
}

Kernel hidden_1_kernel(const RecurrentShape& s, std::int64_t slices) {
  const std::int64_t k = cell_shape(s.cell).recurrent_gates * s.hidden;
  Kernel kernel = gemm_kernel(s.batch, s.output(), k, s.type, false);
  kernel.k = k / slices;
  kernel.bytes_written = kernel.bytes_written * slices;
  return kernel;
}

Kernel hidden_2_kernel(const RecurrentShape& s, std::int64_t steps) {
  return gemm_kernel(steps * s.batch, s.width, s.gates(), s.type, false);
}

Kernel weight_1_kernel(const RecurrentShape& s, std::int64_t steps) {
  return gemm_kernel(s.width, s.gates(), steps * s.batch, s.type, true);
}

Kernel weight_2_kernel(const RecurrentShape& s, std::int64_t steps, bool bias) {
  Kernel kernel = gemm_kernel(
      s.output(), cell_shape(s.cell).recurrent_gates * s.hidden, steps * s.batch, s.type, true);
  if (bias) {
    const Bytes sums{s.biases() * bytes_per_element(s.type)};
    kernel.flops += bias_kernel(s, steps).flops;
    kernel.bytes_read += sums;
    kernel.bytes_written += sums;
  }
  return kernel;
}

Kernel weight_3_kernel(const RecurrentShape& s, std::int64_t steps) {
  const std::int64_t columns = s.projection > 0 ? s.projection : s.hidden;
  return gemm_kernel(s.hidden, columns, steps * s.batch, s.type, true);
}

Kernel bias_kernel(const RecurrentShape& s, std::int64_t steps) {
  const std::int64_t elements = steps * s.batch * s.biases();
  Kernel kernel =
      pointwise_kernel(s.type, static_cast<double>(elements), elements + s.biases(), s.biases());
  kernel.kind = TaskKind::reduction;
  return kernel;
}

Kernel transpose_kernel(std::int64_t elements, DataType type) {
  return pointwise_kernel(type, 0.0, elements, elements);
}

Kernel reduce_kernel(std::int64_t elements, std::int64_t buffers, DataType type) {
  Kernel kernel = pointwise_kernel(type,
                                   static_cast<double>(elements) * static_cast<double>(buffers - 1),
                                   elements * buffers,
                                   elements);
  kernel.kind = TaskKind::reduction;
  return kernel;
}

Kernel update_kernel(std::int64_t parameters, DataType type) {
  return pointwise_kernel(type, 2.0 * static_cast<double>(parameters), 2 * parameters, parameters);
}

Kernel loss_kernel(std::int64_t elements, DataType type) {
  return pointwise_kernel(type, 4.0 * static_cast<double>(elements), 2 * elements, elements + 1);
}

Kernel copy_kernel(TaskKind direction, std::int64_t bytes, DataType type) {
  return Kernel{
      .kind = direction, .type = type, .bytes_read = Bytes{bytes}, .bytes_written = Bytes{bytes}};
}

}  // namespace schedlab
