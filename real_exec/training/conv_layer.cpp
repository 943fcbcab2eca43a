// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/training/net_layer_kinds.hpp"

#include <algorithm>

namespace schedlab::detail {
namespace {

/// Floats of unfolded pictures at a time: half a MiB, so that they stay in a core's second-level
/// cache.  // assumed: 1 MiB or more
constexpr std::int64_t unfolded_floats = 131'072;

/// Parameters: W[kernel * kernel * channels, units], b[units]. Pictures are unfolded into one row
/// per place of the kernel, so that all passes are matrix products.
class ConvLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void initialize(std::span<float> parameters, std::uint64_t seed) const override {
    Rng rng(seed);
    const std::int64_t area = spec().kernel * spec().kernel;
    fill_glorot(parameters.first(weights()), row_length(), area * units(), rng);
    for (float& bias : parameters.subspan(weights())) bias = 0.0F;
  }

  void forward(const NetLayerArrays& arrays,
               std::span<const float> parameters,
               SampleRange samples,
               bool /*training*/) const override {
    std::vector<float> rows(buffer_size(samples.count));
    for_blocks(samples.count, [&](std::int64_t first, std::int64_t count) {
      unfold(arrays.x + first * input().elements(), count, rows.data());
      float* y = arrays.y + first * output().elements();
      gemm({.m = count * places(),
            .n = units(),
            .k = row_length(),
            .a = rows.data(),
            .stride_a = row_length(),
            .b = parameters.data(),
            .stride_b = units(),
            .c = y,
            .stride_c = units()});
      add_bias(y, count * places(), parameters.subspan(weights()), spec().relu);
    });
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> parameters,
                     SampleRange samples) const override {
    if (spec().relu) mask_relu(arrays.y, arrays.dy, samples.count * output().elements());
    if (arrays.dx == nullptr) return;
    std::vector<float> rows(buffer_size(samples.count));
    std::fill_n(arrays.dx, samples.count * input().elements(), 0.0F);
    for_blocks(samples.count, [&](std::int64_t first, std::int64_t count) {
      gemm({.m = count * places(),
            .n = row_length(),
            .k = units(),
            .op_b = Transpose::yes,
            .a = arrays.dy + first * output().elements(),
            .stride_a = units(),
            .b = parameters.data(),
            .stride_b = units(),
            .c = rows.data(),
            .stride_c = row_length()});
      fold(rows.data(), count, arrays.dx + first * input().elements());
    });
  }

  void backward_weight(const NetLayerArrays& arrays,
                       std::span<float> gradient,
                       SampleRange samples) const override {
    std::vector<float> rows(buffer_size(samples.count));
    for_blocks(samples.count, [&](std::int64_t first, std::int64_t count) {
      unfold(arrays.x + first * input().elements(), count, rows.data());
      gemm({.m = row_length(),
            .n = units(),
            .k = count * places(),
            .op_a = Transpose::yes,
            .a = rows.data(),
            .stride_a = row_length(),
            .b = arrays.dy + first * output().elements(),
            .stride_b = units(),
            .c = gradient.data(),
            .stride_c = units(),
            .beta = 1.0F});
    });
    accumulate_rows(arrays.dy, samples.count * places(), gradient.subspan(weights()));
  }

 private:
  [[nodiscard]] std::int64_t units() const { return spec().units; }
  [[nodiscard]] std::int64_t places() const { return output().height * output().width; }
  [[nodiscard]] std::int64_t strip() const { return spec().kernel * input().channels; }
  [[nodiscard]] std::int64_t row_length() const { return spec().kernel * strip(); }
  [[nodiscard]] std::size_t weights() const {
    return static_cast<std::size_t>(row_length() * units());
  }
  [[nodiscard]] std::int64_t block_samples(std::int64_t samples) const {
    return std::clamp<std::int64_t>(unfolded_floats / (places() * row_length()), 1, samples);
  }
  [[nodiscard]] std::size_t buffer_size(std::int64_t samples) const {
    return static_cast<std::size_t>(block_samples(std::max<std::int64_t>(samples, 1)) * places() *
                                    row_length());
  }

  template <class Work>
  void for_blocks(std::int64_t samples, const Work& work) const {
    const std::int64_t block = block_samples(std::max<std::int64_t>(samples, 1));
    for (std::int64_t first = 0; first < samples; first += block) {
      work(first, std::min(block, samples - first));
    }
  }

  /// Visits the pieces of a picture that lie together both in it and in the unfolded rows.
  template <class Piece>
  void for_pieces(std::int64_t samples, const Piece& piece) const {
    std::int64_t at = 0;
    for (std::int64_t s = 0; s < samples; ++s) {
      for (std::int64_t row = 0; row < output().height; ++row) {
        for (std::int64_t column = 0; column < output().width; ++column) {
          for (std::int64_t i = 0; i < spec().kernel; ++i, at += strip()) {
            const std::int64_t line = (s * input().height + row + i) * input().width + column;
            piece(line * input().channels, at);
          }
        }
      }
    }
  }

  void unfold(const float* x, std::int64_t samples, float* rows) const {
    for_pieces(samples, [&](std::int64_t from, std::int64_t to) {
      std::copy_n(x + from, strip(), rows + to);
    });
  }

  void fold(const float* rows, std::int64_t samples, float* dx) const {
    for_pieces(samples, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t i = 0; i < strip(); ++i) dx[to + i] += rows[from + i];
    });
  }
};

}  // namespace

std::unique_ptr<NetLayer> make_conv2d(const NetLayerSpec& spec,
                                      const SampleShape& input,
                                      const SampleShape& output) {
  return std::make_unique<ConvLayer>(spec, input, output);
}

}  // namespace schedlab::detail
