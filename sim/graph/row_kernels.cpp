// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/row_kernels.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab {
namespace {

Kernel streaming(TaskKind kind, double flops, std::int64_t read, std::int64_t written, DataType t) {
  SCHEDLAB_EXPECTS(read > 0 && written > 0 && flops >= 0.0,
                   fmt::format("kernel that reads {} and writes {} elements", read, written));
  const std::int64_t element = bytes_per_element(t);
  return Kernel{.kind = kind,
                .type = t,
                .flops = Flops{flops},
                .bytes_read = Bytes{read * element},
                .bytes_written = Bytes{written * element}};
}

Kernel over_rows(std::int64_t rows,
                 std::int64_t columns,
                 double flops_per_element,
                 std::int64_t more_read,
                 std::int64_t written,
                 DataType type) {
  SCHEDLAB_EXPECTS(rows > 0 && columns > 0, fmt::format("{} rows of {}", rows, columns));
  const std::int64_t elements = rows * columns;
  Kernel kernel = streaming(TaskKind::reduction,
                            flops_per_element * static_cast<double>(elements),
                            elements + more_read,
                            written,
                            type);
  kernel.m = rows;
  kernel.n = columns;
  return kernel;
}

}  // namespace

Kernel pointwise_kernel(std::int64_t elements,
                        std::int64_t inputs,
                        double flops_per_element,
                        DataType type) {
  return streaming(TaskKind::pointwise,
                   flops_per_element * static_cast<double>(elements),
                   elements * inputs,
                   elements,
                   type);
}

Kernel cast_kernel(std::int64_t elements, DataType from, DataType to) {
  Kernel kernel = pointwise_kernel(elements, 1, 1, to);
  kernel.bytes_read = Bytes{elements * bytes_per_element(from)};
  return kernel;
}

Kernel row_reduction_kernel(std::int64_t rows, std::int64_t columns, DataType type) {
  Kernel kernel = over_rows(rows, columns, 0.0, 0, rows, type);
  kernel.flops = Flops{static_cast<double>(rows) * static_cast<double>(columns - 1)};
  return kernel;
}

Kernel softmax_kernel(std::int64_t rows, std::int64_t columns, DataType type) {
  return over_rows(rows, columns, 5.0, 0, rows * columns, type);
}

Kernel normalization_kernel(std::int64_t rows, std::int64_t columns, DataType type) {
  return over_rows(rows, columns, 8.0, 2 * columns, rows * columns, type);
}

Kernel pooling_kernel(std::int64_t inputs,
                      std::int64_t outputs,
                      std::int64_t window,
                      DataType type) {
  return streaming(TaskKind::pointwise,
                   static_cast<double>(outputs) * static_cast<double>(window),
                   inputs,
                   outputs,
                   type);
}

}  // namespace schedlab
