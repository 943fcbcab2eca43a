// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstdint>

namespace schedlab {

// Kernels over rows, x[rows, columns]: what is left of a network besides its matrix kernels. A sum,
// product, comparison, exponential or root of one element counts as one FLOP. Tensors are read and
// written once: libraries keep a row on chip. All counts positive (ContractViolation otherwise).

/// y = f(x...), `flops_per_element` FLOP each; reads `inputs` tensors and writes one.
[[nodiscard]] Kernel pointwise_kernel(std::int64_t elements,
                                      std::int64_t inputs,
                                      double flops_per_element,
                                      DataType type);
/// Reads one type, writes another.
[[nodiscard]] Kernel cast_kernel(std::int64_t elements, DataType from, DataType to);
/// One number per row: columns - 1 sums each.
[[nodiscard]] Kernel row_reduction_kernel(std::int64_t rows, std::int64_t columns, DataType type);
/// y = exp(x - max) / sum: 5 FLOP per element (maximum, difference, exponential, sum, quotient).
[[nodiscard]] Kernel softmax_kernel(std::int64_t rows, std::int64_t columns, DataType type);
/// Layer or batch normalisation, y = (x - mean) / deviation * scale + shift: 8 FLOP per element
/// (sum, difference, square, sum, difference, quotient, scale, shift); a row is what shares one
/// mean. Reads scale and shift on top.
[[nodiscard]] Kernel normalization_kernel(std::int64_t rows, std::int64_t columns, DataType type);
/// Pooling with a window of `window` elements: one FLOP per element of it, point-wise over the
/// outputs.
[[nodiscard]] Kernel pooling_kernel(std::int64_t inputs,
                                    std::int64_t outputs,
                                    std::int64_t window,
                                    DataType type);

}  // namespace schedlab
