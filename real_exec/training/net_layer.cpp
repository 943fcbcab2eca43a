// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/net_layer.hpp"

#include "real_exec/training/net_layer_kinds.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {

// NOLINTNEXTLINE(modernize-pass-by-value): callers keep what they give
NetLayer::NetLayer(const NetLayerSpec& spec, const SampleShape& input, const SampleShape& output)
    : spec_(spec), input_(input), output_(output) {}

void NetLayer::initialize(std::span<float> /*parameters*/, std::uint64_t /*seed*/) const {}

void NetLayer::backward_weight(const NetLayerArrays& /*arrays*/,
                               std::span<float> /*gradient*/,
                               SampleRange /*samples*/) const {}

namespace detail {

void fill_glorot(std::span<float> matrix, std::int64_t inputs, std::int64_t outputs, Rng& rng) {
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  for (float& value : matrix) value = static_cast<float>(limit * (2.0 * rng.uniform() - 1.0));
}

void add_bias(float* y, std::int64_t rows, std::span<const float> bias, bool relu) {
  const std::size_t n = bias.size();
  for (std::int64_t row = 0; row < rows; ++row, y += n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += bias[i];
    if (!relu) continue;
    for (std::size_t i = 0; i < n; ++i) y[i] = std::max(y[i], 0.0F);
  }
}

void accumulate_rows(const float* rows_of, std::int64_t rows, std::span<float> sums) {
  const std::size_t n = sums.size();
  for (std::int64_t row = 0; row < rows; ++row, rows_of += n) {
    for (std::size_t i = 0; i < n; ++i) sums[i] += rows_of[i];
  }
}

void mask_relu(const float* y, float* dy, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) dy[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

}  // namespace detail

std::unique_ptr<NetLayer> make_net_layer(const NetLayerSpec& spec,
                                         const SampleShape& input,
                                         const SampleShape& output,
                                         std::uint64_t dropout_key) {
  switch (spec.kind) {
    case NetLayerKind::dense:
      return detail::make_dense(spec, input, output);
    case NetLayerKind::conv2d:
      return detail::make_conv2d(spec, input, output);
    case NetLayerKind::max_pool:
      return detail::make_max_pool(spec, input, output);
    case NetLayerKind::dropout:
      return detail::make_dropout(spec, input, output, dropout_key);
    case NetLayerKind::lstm:
      return detail::make_lstm(spec, input, output);
    case NetLayerKind::embedding:
    case NetLayerKind::layer_norm:
    case NetLayerKind::attention:
    case NetLayerKind::gelu:
    case NetLayerKind::add:
      return detail::make_transformer_layer(spec, input, output);
  }
  throw ContractViolation("a layer of unknown kind");
}

ClassLoss softmax_cross_entropy(std::span<const float> logits,
                                std::span<const std::int32_t> labels,
                                std::int64_t classes,
                                float scale,
                                float* d_logits) {
  ClassLoss result;
  const auto width = static_cast<std::size_t>(classes);
  for (std::size_t s = 0; s < labels.size(); ++s) {
    const auto row = logits.subspan(s * width, width);
    SCHEDLAB_EXPECTS(labels[s] >= 0 && labels[s] < classes,
                     fmt::format("label {} of {} classes", labels[s], classes));
    const auto label = static_cast<std::size_t>(labels[s]);
    const auto best = std::max_element(row.begin(), row.end());
    if (static_cast<std::size_t>(best - row.begin()) == label) ++result.correct;
    const double largest = *best;
    double sum = 0;
    for (const float value : row) sum += std::exp(value - largest);
    const double log_sum = largest + std::log(sum);
    result.loss += log_sum - row[label];
    if (d_logits == nullptr) continue;
    for (std::size_t i = 0; i < width; ++i) {
      const double probability = std::exp(row[i] - log_sum);
      d_logits[s * width + i] = scale * static_cast<float>(probability - (i == label ? 1.0 : 0.0));
    }
  }
  return result;
}

}  // namespace schedlab
