// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// What one image is at some place of a network: c channels of h x w.
struct FeatureMap {
  std::int64_t c = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;

  [[nodiscard]] std::int64_t positions() const { return h * w; }
  [[nodiscard]] std::int64_t elements() const { return c * h * w; }
};

/// The window of a convolution or pooling: r rows, s columns.
struct ConvWindow {
  std::int64_t r = 1;
  std::int64_t s = 1;
  std::int64_t stride = 1;
  std::int64_t pad_h = 0;
  std::int64_t pad_w = 0;

  [[nodiscard]] std::int64_t elements() const { return r * s; }
};

enum class LayerKind : std::uint8_t {
  input,
  convolution,  ///< without bias
  dense,        ///< without bias; the map is flattened
  bias,         ///< one number per channel is added
  batch_norm,
  relu,
  response_norm,  ///< AlexNet's local response normalisation
  max_pool,
  average_pool,
  dropout,
  concat,  ///< of channels
  add,
  loss,  ///< softmax and cross entropy
};

/// One row of a network's table.
struct ConvLayer {
  LayerKind kind = LayerKind::input;
  std::vector<std::size_t> inputs{};
  FeatureMap map{};  ///< what it hands on
  ConvWindow window{};
  std::int64_t groups = 1;
};

/// A network of convolutions as a list of layers, inputs before users; layer 0 is the image. The
/// functions add a layer and return its number; those that take a window throw InfeasibleError if
/// it does not fit the map, and name the network and the image's size.
class ConvLayers {
 public:
  using Number = std::size_t;

  ConvLayers(std::string_view network, std::int64_t image, std::int64_t colours = 3);

  [[nodiscard]] static constexpr Number image() { return 0; }
  Number convolution(Number x,
                     std::int64_t channels,
                     const ConvWindow& window,
                     std::int64_t groups = 1);
  Number dense(Number x, std::int64_t outputs);
  Number bias(Number x) { return like(LayerKind::bias, x); }
  Number batch_norm(Number x) { return like(LayerKind::batch_norm, x); }
  Number relu(Number x) { return like(LayerKind::relu, x); }
  Number response_norm(Number x) { return like(LayerKind::response_norm, x); }
  Number dropout(Number x) { return like(LayerKind::dropout, x); }
  Number max_pool(Number x, const ConvWindow& window) {
    return windowed(LayerKind::max_pool, x, layers_[x].map.c, window, 1);
  }
  Number average_pool(Number x, const ConvWindow& window) {
    return windowed(LayerKind::average_pool, x, layers_[x].map.c, window, 1);
  }
  /// Over the whole map.
  Number global_average_pool(Number x);
  Number concat(const std::vector<Number>& parts);
  Number add(Number a, Number b);
  Number loss(Number x) { return like(LayerKind::loss, x); }

  [[nodiscard]] const std::vector<ConvLayer>& layers() const { return layers_; }
  [[nodiscard]] const FeatureMap& input_of(const ConvLayer& layer) const {
    return layers_[layer.inputs.front()].map;
  }
  /// Trained numbers of one layer: weights, biases, or scale and shift of each channel.
  [[nodiscard]] std::int64_t parameters(const ConvLayer& layer) const;

 private:
  Number like(LayerKind kind, Number x);
  Number windowed(LayerKind kind,
                  Number x,
                  std::int64_t channels,
                  const ConvWindow& window,
                  std::int64_t groups);
  Number push(ConvLayer layer);

  std::string network_;
  std::vector<ConvLayer> layers_;
};

}  // namespace schedlab::detail
