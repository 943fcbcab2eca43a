// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/cuda_work.hpp"

#include <algorithm>
#include <array>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, 3> precision_words{"fp32", "tf32", "bf16"};
constexpr std::array<std::string_view, 2> product_words{"cublas", "cublaslt"};

}  // namespace

std::string_view to_string(CudaPrecision precision) {
  return precision_words.at(static_cast<std::size_t>(precision));
}

std::optional<CudaPrecision> cuda_precision_from(std::string_view word) {
  const auto* const found = std::find(precision_words.begin(), precision_words.end(), word);
  if (found == precision_words.end()) return std::nullopt;
  return static_cast<CudaPrecision>(found - precision_words.begin());
}

const std::vector<std::string>& cuda_precision_names() {
  static const std::vector<std::string> names(precision_words.begin(), precision_words.end());
  return names;
}

std::string_view to_string(CudaProducts products) {
  return product_words.at(static_cast<std::size_t>(products));
}

std::optional<CudaProducts> cuda_products_from(std::string_view word) {
  const auto* const found = std::find(product_words.begin(), product_words.end(), word);
  if (found == product_words.end()) return std::nullopt;
  return static_cast<CudaProducts>(found - product_words.begin());
}

const std::vector<std::string>& cuda_products_names() {
  static const std::vector<std::string> names(product_words.begin(), product_words.end());
  return names;
}

std::optional<CudaPrecision> cuda_precision_of(DataType type) {
  return cuda_precision_from(to_string(type));
}

}  // namespace schedlab
