// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/product_layout.hpp"

#include <algorithm>
#include <cstddef>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, 3> layout_names{"gemm", "gemm_nt", "gemm_tn"};
// Operations of workloads/models/recurrent with products dG * W^T, whole or gate by gate.
constexpr std::array<std::string_view, 6> data_gradients{
    "hidden_1", "hidden_2", "candidate_hidden", "projection_hidden", "data_node", "node"};

bool is_data_gradient(std::string_view operation) {
  if (operation == "node_forward") return false;
  return std::any_of(data_gradients.begin(), data_gradients.end(), [&](std::string_view name) {
    return operation == name || (operation.starts_with(name) && operation[name.size()] == '_');
  });
}

}  // namespace

bool accumulates(const Kernel& kernel) {
  const auto m = static_cast<double>(kernel.m);
  const auto n = static_cast<double>(kernel.n);
  const auto k = static_cast<double>(kernel.k);
  return static_cast<double>(kernel.bytes_read.count()) >=
         (m * k + k * n + m * n) * static_cast<double>(bytes_per_element(kernel.type));
}

ProductLayout product_layout(std::string_view operation, const Kernel& kernel) {
  if (kernel.kind != TaskKind::gemm) return ProductLayout::nn;
  for (const ProductLayout layout : {ProductLayout::nt, ProductLayout::tn}) {
    if (operation == product_name(layout)) return layout;
  }
  if (operation.ends_with("_k_major")) return ProductLayout::nt;
  if (accumulates(kernel)) return ProductLayout::tn;
  return is_data_gradient(operation) ? ProductLayout::nt : ProductLayout::nn;
}

std::string_view product_name(ProductLayout layout) {
  return layout_names.at(static_cast<std::size_t>(layout));
}

}  // namespace schedlab
