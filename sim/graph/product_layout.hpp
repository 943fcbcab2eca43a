// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/graph/task.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// How the factors of a product C[m, n] = A[m, k] * B[k, n] lie in memory, rows one after another.
/// Libraries have kernels of their own for each.
enum class ProductLayout : std::uint8_t {
  nn,  ///< as written: layers forwards
  nt,  ///< memory holds B[n, k]: gradients of data, dG * W^T
  tn,  ///< memory holds A[k, m]: gradients of weights, x^T * dG, added to what C holds
};
template <>
struct EnumNames<ProductLayout> {
  static constexpr auto names = name_list("nn", "nt", "tn");
};
inline constexpr std::array<ProductLayout, 3> product_layouts{
    ProductLayout::nn, ProductLayout::nt, ProductLayout::tn};

/// A matrix kernel that adds into its result reads it too.
[[nodiscard]] bool accumulates(const Kernel& kernel);

/// The layout of a kernel of an operation of this name, as far as the two say: products that
/// accumulate are tn, those of the backward cell of recurrent layers nt, and those of factors that
/// were copied along the sum ("..._k_major"), likewise operations named by product_name(); all
/// others count as nn.
[[nodiscard]] ProductLayout product_layout(std::string_view operation, const Kernel& kernel);

/// What measurements of products of a layout are called, whatever they belong to: "gemm",
/// "gemm_nt", "gemm_tn".
[[nodiscard]] std::string_view product_name(ProductLayout layout);

}  // namespace schedlab
