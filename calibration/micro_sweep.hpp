// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/product_fit.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

/// Shapes of products to measure on a new device, for refine_products: spread evenly over the
/// logarithms of 1 to 8192 rows, n and k 256 to 16384. A design that is optimal for the parameters
/// (greedy D-optimal) was worse on devices whose tables are known: it takes the extreme shapes, and
/// single shapes scatter by the library's choice of kernel.
/// Shapes   min(count, 490), all different; the first ones of a longer sweep are a shorter one.
/// Source   R3 sequence: M. Roberts, The Unreasonable Effectiveness of Quasirandom Sequences, 2018.
[[nodiscard]] std::vector<MeasuredProduct> micro_sweep(std::size_t count);

/// CSV of the shapes, as a table without times.
[[nodiscard]] std::string micro_sweep_csv(const std::vector<MeasuredProduct>& shapes,
                                          DataType type);

}  // namespace schedlab
