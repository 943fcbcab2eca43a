// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/net_layer_kinds.hpp"

#include <algorithm>

namespace schedlab {

bool dropout_keeps(std::uint64_t key, std::int64_t sample, std::int64_t element, double rate) {
  // Two rounds of the generator mix every bit of the three numbers into the result.
  const std::uint64_t row = Rng{key + static_cast<std::uint64_t>(sample)}.next();
  return Rng{row + static_cast<std::uint64_t>(element)}.uniform() >= rate;
}

namespace detail {
namespace {

/// Layers without parameters.
class MaxPoolLayer final : public NetLayer {
 public:
  using NetLayer::NetLayer;

  void forward(const NetLayerArrays& arrays,
               std::span<const float> /*parameters*/,
               SampleRange samples,
               bool /*training*/) const override {
    auto& chosen = arrays.memory->indices;
    chosen.resize(static_cast<std::size_t>(samples.count * output().elements()));
    std::size_t at = 0;
    for (std::int64_t s = 0; s < samples.count; ++s) {
      const float* x = arrays.x + s * input().elements();
      for (std::int64_t row = 0; row < output().height; ++row) {
        for (std::int64_t column = 0; column < output().width; ++column) {
          for (std::int64_t c = 0; c < output().channels; ++c, ++at) {
            const std::int64_t best = largest(x, row, column, c);
            chosen[at] = static_cast<std::int32_t>(best);
            arrays.y[at] = x[best];
          }
        }
      }
    }
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> /*parameters*/,
                     SampleRange samples) const override {
    if (arrays.dx == nullptr) return;
    std::fill_n(arrays.dx, samples.count * input().elements(), 0.0F);
    const auto& chosen = arrays.memory->indices;
    std::size_t at = 0;
    for (std::int64_t s = 0; s < samples.count; ++s) {
      float* dx = arrays.dx + s * input().elements();
      for (std::int64_t i = 0; i < output().elements(); ++i, ++at) dx[chosen[at]] += arrays.dy[at];
    }
  }

 private:
  /// Place of the largest value of a window in its picture, of equal ones the first.
  [[nodiscard]] std::int64_t largest(const float* x,
                                     std::int64_t row,
                                     std::int64_t column,
                                     std::int64_t channel) const {
    const std::int64_t window = spec().window;
    std::int64_t best = -1;
    for (std::int64_t i = row * window; i < (row + 1) * window; ++i) {
      for (std::int64_t k = column * window; k < (column + 1) * window; ++k) {
        const std::int64_t place = (i * input().width + k) * input().channels + channel;
        if (best < 0 || x[place] > x[best]) best = place;
      }
    }
    return best;
  }
};

class DropoutLayer final : public NetLayer {
 public:
  DropoutLayer(const NetLayerSpec& spec,
               const SampleShape& input,
               const SampleShape& output,
               std::uint64_t key)
      : NetLayer(spec, input, output), key_(key) {}

  void forward(const NetLayerArrays& arrays,
               std::span<const float> /*parameters*/,
               SampleRange samples,
               bool training) const override {
    if (training) {
      mask(arrays.x, arrays.y, samples);
    } else {
      std::copy_n(arrays.x, samples.count * input().elements(), arrays.y);
    }
  }

  void backward_data(const NetLayerArrays& arrays,
                     std::span<const float> /*parameters*/,
                     SampleRange samples) const override {
    if (arrays.dx != nullptr) mask(arrays.dy, arrays.dx, samples);
  }

 private:
  void mask(const float* from, float* to, SampleRange samples) const {
    const auto scale = static_cast<float>(1.0 / (1.0 - spec().rate));
    const std::int64_t elements = input().elements();
    for (std::int64_t s = 0; s < samples.count; ++s) {
      for (std::int64_t i = 0; i < elements; ++i) {
        const bool kept = dropout_keeps(key_, samples.first + s, i, spec().rate);
        to[s * elements + i] = kept ? scale * from[s * elements + i] : 0.0F;
      }
    }
  }

  std::uint64_t key_;
};

}  // namespace

std::unique_ptr<NetLayer> make_max_pool(const NetLayerSpec& spec,
                                        const SampleShape& input,
                                        const SampleShape& output) {
  return std::make_unique<MaxPoolLayer>(spec, input, output);
}

std::unique_ptr<NetLayer> make_dropout(const NetLayerSpec& spec,
                                       const SampleShape& input,
                                       const SampleShape& output,
                                       std::uint64_t key) {
  return std::make_unique<DropoutLayer>(spec, input, output, key);
}

}  // namespace detail
}  // namespace schedlab
