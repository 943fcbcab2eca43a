// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

namespace schedlab {

/// Relative difference, in the Euclidean norm, that rounding explains between the results of a
/// recurrent network of up to some hundred products in a row and those in double precision, if
/// the factors of products are of this type and sums are fp32 (docs/gpu_execution.md, "How exact").
/// More is a mistake.
///
/// tf32 and bf16: 20 u and 13 u, with u = 2^-11 and 2^-8, half of the distance of two numbers of
/// the type at 1. A factor that is rounded to the nearest is off by 0.42 u (root mean square over
/// logarithmically distributed numbers), so a product by 0.60 u, and n of them in a row, whose
/// errors are independent, by 0.60 u sqrt(n): 6 u for the 108 of 4 layers and 50 steps, forward
/// and backward. Dropping bits instead makes each product 1.44 u smaller, always: 1.44 u n for the
/// products n over which a result remembers, two or three where gates are half open.
/// bf16 also rounds what is stored between products, zx, activations and dx, 0.42 u each: a node is
/// off by 0.94 u, and 108 of them by 9.8 u.
/// fp32: sums of some thousand terms, in any order; u = 2^-24.
/// Other types have the bound of bf16: fp16 is finer.
[[nodiscard]] double rounding_bound(DataType type);

}  // namespace schedlab
