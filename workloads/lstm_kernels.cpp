// SPDX-License-Identifier: Apache-2.0
#include "workloads/lstm_kernels.hpp"

namespace schedlab {
namespace {

/// Sizes in elements.
Kernel pointwise(DataType type, double flops, std::int64_t read, std::int64_t written) {
  const std::int64_t size = bytes_per_element(type);
  return Kernel{.kind = TaskKind::pointwise,
                .type = type,
                .flops = Flops{flops},
                .bytes_read = Bytes{read * size},
                .bytes_written = Bytes{written * size}};
}

}  // namespace

Kernel cell_forward_kernel(const LstmShape& s) {
  const std::int64_t cells = s.batch * s.hidden;
  return pointwise(s.type, 17.0 * static_cast<double>(cells), 9 * cells + s.gates(), 6 * cells);
}

Kernel input_kernel(const LstmShape& s) {
  return gemm_kernel(s.batch, s.gates(), s.width, s.type, false);
}

Kernel recurrent_kernel(const LstmShape& s) {
  return gemm_kernel(s.batch, s.gates(), s.hidden, s.type, false);
}

Kernel cell_kernel(const LstmShape& s) {
  const std::int64_t cells = s.batch * s.hidden;
  return pointwise(s.type, 24.0 * static_cast<double>(cells), 9 * cells, 5 * cells);
}

Kernel hidden_1_kernel(const LstmShape& s) {
  return gemm_kernel(s.batch, s.hidden, s.gates(), s.type, false);
}

Kernel hidden_2_kernel(const LstmShape& s) {
  return gemm_kernel(s.batch, s.width, s.gates(), s.type, false);
}

Kernel weight_1_kernel(const LstmShape& s, std::int64_t steps) {
  return gemm_kernel(s.width, s.gates(), steps * s.batch, s.type, true);
}

Kernel weight_2_kernel(const LstmShape& s, std::int64_t steps, bool bias) {
  Kernel kernel = gemm_kernel(s.hidden, s.gates(), steps * s.batch, s.type, true);
  if (bias) {
    const Bytes sums{s.gates() * bytes_per_element(s.type)};
    kernel.flops += bias_kernel(s, steps).flops;
    kernel.bytes_read += sums;
    kernel.bytes_written += sums;
  }
  return kernel;
}

Kernel bias_kernel(const LstmShape& s, std::int64_t steps) {
  const std::int64_t elements = steps * s.batch * s.gates();
  Kernel kernel = pointwise(s.type, static_cast<double>(elements), elements + s.gates(), s.gates());
  kernel.kind = TaskKind::reduction;
  return kernel;
}

Kernel reduce_kernel(std::int64_t elements, std::int64_t buffers, DataType type) {
  Kernel kernel = pointwise(type,
                            static_cast<double>(elements) * static_cast<double>(buffers - 1),
                            elements * buffers,
                            elements);
  kernel.kind = TaskKind::reduction;
  return kernel;
}

Kernel update_kernel(const LstmShape& s) {
  const std::int64_t parameters = s.parameters();
  return pointwise(s.type, 2.0 * static_cast<double>(parameters), 2 * parameters, parameters);
}

Kernel loss_kernel(const LstmShape& s, std::int64_t steps) {
  const std::int64_t elements = steps * s.batch * s.hidden;
  return pointwise(s.type, 4.0 * static_cast<double>(elements), 2 * elements, elements + 1);
}

Kernel copy_kernel(TaskKind direction, std::int64_t bytes, DataType type) {
  return Kernel{
      .kind = direction, .type = type, .bytes_read = Bytes{bytes}, .bytes_written = Bytes{bytes}};
}

}  // namespace schedlab
