// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/gpt_precision.hpp"

#include "sim/graph/row_kernels.hpp"

namespace schedlab {
namespace {

constexpr double softmax_gradient_flops = 4;      // y (dy - sum of y dy)
constexpr double log_softmax_gradient_flops = 3;  // dy - exp(y) sum of dy
constexpr double loss_flops = 7;                  // with the gradient

/// What ranks exchange, they exchange in the type of products.
void put_first(Kernel kernel, LayerPass pass, std::vector<Kernel>& kernels, GptOperator& one) {
  kernels.insert(kernels.begin(), std::move(kernel));
  for (LayerJoin& join : one.joins) {
    if (join.pass == pass) ++join.kernels;
  }
}

}  // namespace

std::int64_t GptPrecision::widened(std::int64_t elements) const {
  return elements * bytes_per_element(wide_) / bytes_per_element(type_);
}

Kernel GptPrecision::residual(std::int64_t elements) const {
  Kernel kernel = pointwise_kernel(elements, 2, 1, wide_);
  kernel.bytes_read -= Bytes{elements * (bytes_per_element(wide_) - bytes_per_element(type_))};
  return kernel;
}

std::vector<Kernel> GptPrecision::softmax(std::int64_t rows, std::int64_t columns) const {
  const Kernel kernel = softmax_kernel(rows, columns, wide_);
  if (!autocast_) return {kernel};
  const std::int64_t elements = rows * columns;
  return {cast_kernel(elements, type_, wide_), kernel, cast_kernel(elements, wide_, type_)};
}

std::vector<Kernel> GptPrecision::softmax_gradient(std::int64_t elements) const {
  const Kernel kernel = pointwise_kernel(elements, 2, softmax_gradient_flops, wide_);
  if (!autocast_) return {kernel};
  return {cast_kernel(elements, type_, wide_), kernel, cast_kernel(elements, wide_, type_)};
}

std::vector<Kernel> GptPrecision::loss(std::int64_t rows, std::int64_t words) const {
  Kernel kernel = softmax_kernel(rows, words, wide_);
  if (autocast_) return {cast_kernel(rows * words, type_, wide_), kernel};
  kernel.flops = Flops{loss_flops * static_cast<double>(rows * words)};
  return {kernel};
}

/// Zeros first, of which that of the right word is set.
std::vector<Kernel> GptPrecision::loss_gradient(std::int64_t elements) const {
  if (!autocast_) return {};
  Kernel zeros = pointwise_kernel(elements, 1, 0, wide_);
  zeros.bytes_read = Bytes{0};
  return {zeros,
          pointwise_kernel(elements, 2, log_softmax_gradient_flops, wide_),
          cast_kernel(elements, wide_, type_)};
}

void GptPrecision::cast_input(std::int64_t elements, GptOperator& one) const {
  if (!autocast_) return;
  put_first(cast_kernel(elements, wide_, type_), LayerPass::forward, one.forward, one);
  one.backward_data.push_back(cast_kernel(elements, type_, wide_));
  one.kept += elements;
}

void GptPrecision::cast_output_gradient(std::int64_t elements, GptOperator& one) const {
  if (!autocast_) return;
  put_first(cast_kernel(elements, wide_, type_), LayerPass::backward_data, one.backward_data, one);
}

void GptPrecision::cast_weights(GptOperator& one) const {
  if (!autocast_) return;
  put_first(cast_kernel(one.parameters, wide_, type_), LayerPass::forward, one.forward, one);
  one.backward_weight.push_back(cast_kernel(one.parameters, type_, wide_));
}

}  // namespace schedlab
