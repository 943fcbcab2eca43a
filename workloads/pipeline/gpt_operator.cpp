// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/gpt_operator.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/graph/row_kernels.hpp"

#include <utility>

namespace schedlab {
namespace {

constexpr double dropout_flops = 2;               // comparison or mask, scale
constexpr double softmax_gradient_flops = 4;      // y (dy - sum of y dy)
constexpr double log_softmax_gradient_flops = 3;  // dy - exp(y) sum of dy
constexpr double loss_flops = 7;                  // with the gradient

}  // namespace

void GptOperator::put_first(LayerPass pass, Kernel kernel) {
  std::vector<Kernel>& kernels = pass == LayerPass::forward         ? forward
                                 : pass == LayerPass::backward_data ? backward_data
                                                                    : backward_weight;
  kernels.insert(kernels.begin(), std::move(kernel));
  for (LayerJoin& join : joins) {
    if (join.pass == pass) ++join.kernels;
  }
}

GptOperator in_sequence(std::string_view name, const std::vector<GptOperator>& operators) {
  GptOperator all{.name = name};
  const auto take = [&all](const GptOperator& one,
                           LayerPass pass,
                           const std::vector<Kernel>& kernels,
                           std::vector<Kernel>& taken) {
    for (LayerJoin join : one.joins) {
      if (join.pass != pass) continue;
      join.kernels += static_cast<std::uint32_t>(taken.size());
      all.joins.push_back(join);
    }
    taken.insert(taken.end(), kernels.begin(), kernels.end());
  };
  for (const GptOperator& one : operators) {
    take(one, LayerPass::forward, one.forward, all.forward);
    all.parameters += one.parameters;
    all.expert_parameters += one.expert_parameters;
    all.kept += one.kept;
    all.outputs = one.outputs;
  }
  for (auto one = operators.rbegin(); one != operators.rend(); ++one) {
    take(*one, LayerPass::backward_data, one->backward_data, all.backward_data);
  }
  for (auto one = operators.rbegin(); one != operators.rend(); ++one) {
    take(*one, LayerPass::backward_weight, one->backward_weight, all.backward_weight);
  }
  return all;
}

Kernel dropout_kernel(std::int64_t elements, DataType type) {
  Kernel kernel = pointwise_kernel(elements, 1, dropout_flops, type);
  kernel.bytes_written += Bytes{elements};
  return kernel;
}

Kernel dropout_gradient_kernel(std::int64_t elements, DataType type) {
  Kernel kernel = pointwise_kernel(elements, 1, dropout_flops, type);
  kernel.bytes_read += Bytes{elements};
  return kernel;
}

std::int64_t GptPrecision::widened(std::int64_t elements) const {
  return elements * bytes_per_element(wide_) / bytes_per_element(type_);
}

Kernel GptPrecision::residual(std::int64_t elements) const {
  Kernel kernel = pointwise_kernel(elements, 2, 1, wide_);
  kernel.bytes_read -= Bytes{elements * (bytes_per_element(wide_) - bytes_per_element(type_))};
  return kernel;
}

std::vector<Kernel> GptPrecision::softmax(std::int64_t rows,
                                          std::int64_t columns,
                                          bool dropout) const {
  const std::int64_t elements = rows * columns;
  std::vector<Kernel> kernels;
  if (autocast_) kernels.push_back(cast_kernel(elements, type_, wide_));
  kernels.push_back(softmax_kernel(rows, columns, wide_));
  if (dropout) kernels.push_back(dropout_kernel(elements, wide_));
  if (autocast_) kernels.push_back(cast_kernel(elements, wide_, type_));
  return kernels;
}

std::vector<Kernel> GptPrecision::softmax_gradient(std::int64_t elements, bool dropout) const {
  std::vector<Kernel> kernels;
  if (autocast_) kernels.push_back(cast_kernel(elements, type_, wide_));
  if (dropout) kernels.push_back(dropout_gradient_kernel(elements, wide_));
  kernels.push_back(pointwise_kernel(elements, 2, softmax_gradient_flops, wide_));
  if (autocast_) kernels.push_back(cast_kernel(elements, wide_, type_));
  return kernels;
}

/// Its result, what is multiplied if that is another tensor, and the mask.
std::int64_t GptPrecision::softmax_kept(std::int64_t elements, bool dropout) const {
  const std::int64_t multiplied = autocast_ || dropout ? elements : 0;
  return widened(elements) + multiplied + (dropout ? mask(elements) : 0);
}

std::int64_t GptPrecision::mask(std::int64_t elements) const {
  return ceil_div(elements, bytes_per_element(type_));
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
  one.put_first(LayerPass::forward, cast_kernel(elements, wide_, type_));
  one.backward_data.push_back(cast_kernel(elements, type_, wide_));
  one.kept += elements;
}

void GptPrecision::cast_output_gradient(std::int64_t elements, GptOperator& one) const {
  if (!autocast_) return;
  one.put_first(LayerPass::backward_data, cast_kernel(elements, wide_, type_));
}

void GptPrecision::cast_weights(GptOperator& one) const {
  if (!autocast_) return;
  one.put_first(LayerPass::forward, cast_kernel(one.parameters, wide_, type_));
  one.backward_weight.push_back(cast_kernel(one.parameters, type_, wide_));
}

}  // namespace schedlab
