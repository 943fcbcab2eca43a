// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/training/net_layer_kinds.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab::detail {
namespace {

constexpr float norm_epsilon = 1e-5F;  // as PyTorch's default

/// Parameters: words[vocabulary, units], positions[rows, units].
class EmbeddingLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void initialize(std::span<float> parameters, std::uint64_t seed) const override {
    Rng rng(seed);
    fill_glorot(parameters, spec().vocabulary, spec().units, rng);
  }

  void forward(const NetLayerArrays& arrays,
               std::span<const float> parameters,
               SampleRange samples,
               bool /*training*/) const override {
    for_rows(arrays, samples, [&](std::int64_t row, std::int64_t word, std::int64_t place) {
      const float* const a = parameters.data() + word * width();
      const float* const b = parameters.data() + place * width();
      float* const y = arrays.y + row * width();
      for (std::int64_t i = 0; i < width(); ++i) y[i] = a[i] + b[i];
    });
  }

  /// Numbers have no gradient.
  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> /*parameters*/,
                     SampleRange samples) const override {
    if (arrays.dx != nullptr) std::fill_n(arrays.dx, samples.count * input().elements(), 0.0F);
  }

  void backward_weight(const NetLayerArrays& arrays,
                       std::span<float> gradient,
                       SampleRange samples) const override {
    for_rows(arrays, samples, [&](std::int64_t row, std::int64_t word, std::int64_t place) {
      const float* const dy = arrays.dy + row * width();
      float* const a = gradient.data() + word * width();
      float* const b = gradient.data() + place * width();
      for (std::int64_t i = 0; i < width(); ++i) {
        a[i] += dy[i];
        b[i] += dy[i];
      }
    });
  }

 private:
  [[nodiscard]] std::int64_t width() const { return spec().units; }

  /// visit(row, row of the parameters of its word, of its position)
  template <class Visit>
  void for_rows(const NetLayerArrays& arrays, SampleRange samples, const Visit& visit) const {
    for (std::int64_t row = 0; row < samples.count * input().height; ++row) {
      const auto number = static_cast<std::int64_t>(arrays.x[row]);
      // What is no word (a measuring run's random numbers) counts as one.
      const std::int64_t word = std::clamp<std::int64_t>(number, 0, spec().vocabulary - 1);
      visit(row, word, spec().vocabulary + row % input().height);
    }
  }
};

/// Parameters: gain[width], bias[width]. Keeps mean and 1 / deviation of each row.
class LayerNormLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void initialize(std::span<float> parameters, std::uint64_t /*seed*/) const override {
    std::fill_n(parameters.begin(), width(), 1.0F);
    std::fill_n(parameters.begin() + width(), width(), 0.0F);
  }

  void forward(const NetLayerArrays& arrays,
               std::span<const float> parameters,
               SampleRange samples,
               bool /*training*/) const override {
    const std::int64_t n = width();
    auto& kept = arrays.memory->values;
    kept.resize(static_cast<std::size_t>(2 * rows(samples)));
    for (std::int64_t row = 0; row < rows(samples); ++row) {
      const float* const x = arrays.x + row * n;
      float* const y = arrays.y + row * n;
      float sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += x[i];
      const float mean = sum / static_cast<float>(n);
      float squares = 0;
      for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const float scale = 1.0F / std::sqrt(squares / static_cast<float>(n) + norm_epsilon);
      kept[static_cast<std::size_t>(2 * row)] = mean;
      kept[static_cast<std::size_t>(2 * row + 1)] = scale;
      for (std::int64_t i = 0; i < n; ++i) {
        y[i] = (x[i] - mean) * scale * parameters[static_cast<std::size_t>(i)] +
               parameters[static_cast<std::size_t>(n + i)];
      }
    }
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> parameters,
                     SampleRange samples) const override {
    if (arrays.dx == nullptr) return;
    const std::int64_t n = width();
    for (std::int64_t row = 0; row < rows(samples); ++row) {
      const auto [mean, scale] = kept_of(arrays, row);
      const float* const x = arrays.x + row * n;
      const float* const dy = arrays.dy + row * n;
      float* const dx = arrays.dx + row * n;
      float sum = 0;
      float along = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const float d = dy[i] * parameters[static_cast<std::size_t>(i)];
        sum += d;
        along += d * (x[i] - mean) * scale;
      }
      sum /= static_cast<float>(n);
      along /= static_cast<float>(n);
      for (std::int64_t i = 0; i < n; ++i) {
        const float d = dy[i] * parameters[static_cast<std::size_t>(i)];
        dx[i] = scale * (d - sum - (x[i] - mean) * scale * along);
      }
    }
  }

  void backward_weight(const NetLayerArrays& arrays,
                       std::span<float> gradient,
                       SampleRange samples) const override {
    const std::int64_t n = width();
    for (std::int64_t row = 0; row < rows(samples); ++row) {
      const auto [mean, scale] = kept_of(arrays, row);
      for (std::int64_t i = 0; i < n; ++i) {
        const float dy = arrays.dy[row * n + i];
        gradient[static_cast<std::size_t>(i)] += dy * (arrays.x[row * n + i] - mean) * scale;
        gradient[static_cast<std::size_t>(n + i)] += dy;
      }
    }
  }

 private:
  struct Kept {
    float mean;
    float scale;
  };
  [[nodiscard]] std::int64_t width() const { return input().width * input().channels; }
  [[nodiscard]] std::int64_t rows(SampleRange samples) const {
    return samples.count * input().height;
  }
  [[nodiscard]] static Kept kept_of(const NetLayerArrays& arrays, std::int64_t row) {
    const float* const kept = arrays.memory->values.data() + 2 * row;
    return {kept[0], kept[1]};
  }
};

/// No parameters. Keeps the weights of each head, rows x rows, zero above the diagonal.
class AttentionLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void forward(const NetLayerArrays& arrays,
               std::span<const float> /*parameters*/,
               SampleRange samples,
               bool /*training*/) const override {
    arrays.memory->values.resize(static_cast<std::size_t>(samples.count * weights_of_sample()));
    for_heads(samples, [&](std::int64_t sample, std::int64_t head) {
      float* const p = weights(arrays, sample, head);
      const float* const q = arrays.x + sample * input().elements() + head * depth();
      multiply(false, true, rows(), rows(), depth(), q, stride(), q + width(), stride(), p, rows());
      for (std::int64_t row = 0; row < rows(); ++row) softmax_up_to(p + row * rows(), row);
      float* const y = arrays.y + sample * output().elements() + head * depth();
      multiply(
          false, false, rows(), depth(), rows(), p, rows(), q + 2 * width(), stride(), y, width());
    });
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> /*parameters*/,
                     SampleRange samples) const override {
    if (arrays.dx == nullptr) return;
    std::vector<float> d_weights(static_cast<std::size_t>(rows() * rows()));
    for_heads(samples, [&](std::int64_t sample, std::int64_t head) {
      const float* const p = weights(arrays, sample, head);
      const float* const q = arrays.x + sample * input().elements() + head * depth();
      const float* const dy = arrays.dy + sample * output().elements() + head * depth();
      float* const dq = arrays.dx + sample * input().elements() + head * depth();
      float* const d = d_weights.data();
      const std::int64_t n = rows();
      // dV = P^T dY; dP = dY V^T
      multiply(true, false, n, depth(), n, p, n, dy, width(), dq + 2 * width(), stride());
      multiply(false, true, n, n, depth(), dy, width(), q + 2 * width(), stride(), d, n);
      for (std::int64_t row = 0; row < n; ++row) softmax_gradient(p + row * n, d + row * n, row);
      // dQ = dS K; dK = dS^T Q
      multiply(false, false, n, depth(), n, d, n, q + width(), stride(), dq, stride());
      multiply(true, false, n, depth(), n, d, n, q, stride(), dq + width(), stride());
    });
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return input().height; }
  [[nodiscard]] std::int64_t width() const { return output().channels; }
  [[nodiscard]] std::int64_t stride() const { return 3 * width(); }
  [[nodiscard]] std::int64_t depth() const { return width() / spec().heads; }
  [[nodiscard]] float scale() const { return 1.0F / std::sqrt(static_cast<float>(depth())); }
  [[nodiscard]] std::int64_t weights_of_sample() const { return spec().heads * rows() * rows(); }
  [[nodiscard]] float* weights(const NetLayerArrays& arrays,
                               std::int64_t sample,
                               std::int64_t head) const {
    return arrays.memory->values.data() + sample * weights_of_sample() + head * rows() * rows();
  }

  template <class Visit>
  void for_heads(SampleRange samples, const Visit& visit) const {
    for (std::int64_t sample = 0; sample < samples.count; ++sample) {
      for (std::int64_t head = 0; head < spec().heads; ++head) visit(sample, head);
    }
  }

  static void multiply(bool turned_a,
                       bool turned_b,
                       std::int64_t m,
                       std::int64_t n,
                       std::int64_t k,
                       const float* a,
                       std::int64_t stride_a,
                       const float* b,
                       std::int64_t stride_b,
                       float* c,
                       std::int64_t stride_c) {
    gemm({.m = m,
          .n = n,
          .k = k,
          .op_a = turned_a ? Transpose::yes : Transpose::no,
          .op_b = turned_b ? Transpose::yes : Transpose::no,
          .a = a,
          .stride_a = stride_a,
          .b = b,
          .stride_b = stride_b,
          .c = c,
          .stride_c = stride_c});
  }

  void softmax_up_to(float* scores, std::int64_t last) const {
    const float largest = *std::max_element(scores, scores + last + 1);
    float sum = 0;
    for (std::int64_t i = 0; i <= last; ++i) {
      scores[i] = std::exp(scale() * (scores[i] - largest));
      sum += scores[i];
    }
    for (std::int64_t i = 0; i <= last; ++i) scores[i] /= sum;
    std::fill(scores + last + 1, scores + rows(), 0.0F);
  }

  /// d: of the weights, then of the products of queries and keys.
  void softmax_gradient(const float* p, float* d, std::int64_t last) const {
    float along = 0;
    for (std::int64_t i = 0; i <= last; ++i) along += p[i] * d[i];
    for (std::int64_t i = 0; i <= last; ++i) d[i] = scale() * p[i] * (d[i] - along);
    std::fill(d + last + 1, d + rows(), 0.0F);
  }
};

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): Hendrycks, Gimpel, arXiv 1606.08415.
class GeluLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void forward(const NetLayerArrays& arrays,
               std::span<const float> /*parameters*/,
               SampleRange samples,
               bool /*training*/) const override {
    for (std::int64_t i = 0; i < samples.count * input().elements(); ++i) {
      const float x = arrays.x[i];
      arrays.y[i] = 0.5F * x * (1.0F + std::tanh(inner(x)));
    }
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> /*parameters*/,
                     SampleRange samples) const override {
    if (arrays.dx == nullptr) return;
    for (std::int64_t i = 0; i < samples.count * input().elements(); ++i) {
      const float x = arrays.x[i];
      const float t = std::tanh(inner(x));
      const float slope = root * (1.0F + 3.0F * cubic * x * x);
      arrays.dx[i] = arrays.dy[i] * (0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope);
    }
  }

 private:
  static constexpr float root = 0.79788456F;  // sqrt(2 / pi)
  static constexpr float cubic = 0.044715F;
  [[nodiscard]] static float inner(float x) { return root * (x + cubic * x * x * x); }
};

/// The gradient of both is that of the sum.
class AddLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void forward(const NetLayerArrays& arrays,
               std::span<const float> /*parameters*/,
               SampleRange samples,
               bool /*training*/) const override {
    for (std::int64_t i = 0; i < samples.count * input().elements(); ++i) {
      arrays.y[i] = arrays.x[i] + arrays.x2[i];
    }
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> /*parameters*/,
                     SampleRange samples) const override {
    if (arrays.dx == nullptr) return;
    std::copy_n(arrays.dy, samples.count * input().elements(), arrays.dx);
  }
};

}  // namespace

std::unique_ptr<NetLayer> make_transformer_layer(const NetLayerSpec& spec,
                                                 const SampleShape& input,
                                                 const SampleShape& output) {
  switch (spec.kind) {
    case NetLayerKind::embedding:
      return std::make_unique<EmbeddingLayer>(spec, input, output);
    case NetLayerKind::layer_norm:
      return std::make_unique<LayerNormLayer>(spec, input, output);
    case NetLayerKind::attention:
      return std::make_unique<AttentionLayer>(spec, input, output);
    case NetLayerKind::gelu:
      return std::make_unique<GeluLayer>(spec, input, output);
    case NetLayerKind::add:
      return std::make_unique<AddLayer>(spec, input, output);
    default:
      throw ContractViolation("not a layer of a transformer");
  }
}

}  // namespace schedlab::detail
