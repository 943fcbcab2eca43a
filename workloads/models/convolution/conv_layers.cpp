// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_layers.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {

ConvLayers::ConvLayers(std::string_view network, std::int64_t image, std::int64_t colours)
    : network_(network) {
  layers_.push_back({.kind = LayerKind::input, .map = {colours, image, image}});
}

ConvLayers::Number ConvLayers::push(ConvLayer layer) {
  layers_.push_back(std::move(layer));
  return layers_.size() - 1;
}

ConvLayers::Number ConvLayers::like(LayerKind kind, Number x) {
  return push({.kind = kind, .inputs = {x}, .map = layers_[x].map});
}

ConvLayers::Number ConvLayers::windowed(LayerKind kind,
                                        Number x,
                                        std::int64_t channels,
                                        const ConvWindow& window,
                                        std::int64_t groups) {
  const FeatureMap& from = layers_[x].map;
  const std::int64_t rows = from.h + 2 * window.pad_h - window.r;
  const std::int64_t columns = from.w + 2 * window.pad_w - window.s;
  if (rows < 0 || columns < 0) {
    throw InfeasibleError(
        fmt::format("{}: an image of {} x {} is too small; a window of {} x {} meets a map of "
                    "{} x {}; use larger images",
                    network_,
                    layers_.front().map.h,
                    layers_.front().map.w,
                    window.r,
                    window.s,
                    from.h,
                    from.w));
  }
  return push({.kind = kind,
               .inputs = {x},
               .map = {channels, rows / window.stride + 1, columns / window.stride + 1},
               .window = window,
               .groups = groups});
}

ConvLayers::Number ConvLayers::convolution(Number x,
                                           std::int64_t channels,
                                           const ConvWindow& window,
                                           std::int64_t groups) {
  return windowed(LayerKind::convolution, x, channels, window, groups);
}

ConvLayers::Number ConvLayers::dense(Number x, std::int64_t outputs) {
  return push({.kind = LayerKind::dense, .inputs = {x}, .map = {outputs, 1, 1}});
}

ConvLayers::Number ConvLayers::global_average_pool(Number x) {
  const FeatureMap& map = layers_[x].map;
  return average_pool(x, {.r = map.h, .s = map.w});
}

ConvLayers::Number ConvLayers::concat(const std::vector<Number>& parts) {
  FeatureMap map = layers_[parts.front()].map;
  map.c = 0;
  for (const Number part : parts) {
    const FeatureMap& own = layers_[part].map;
    SCHEDLAB_EXPECTS(
        own.h == map.h && own.w == map.w,
        fmt::format("{}: layer {} is joined with maps of another size", network_, part));
    map.c += own.c;
  }
  return push({.kind = LayerKind::concat, .inputs = parts, .map = map});
}

ConvLayers::Number ConvLayers::add(Number a, Number b) {
  const FeatureMap& map = layers_[a].map;
  SCHEDLAB_EXPECTS(map.c == layers_[b].map.c && map.h == layers_[b].map.h,
                   fmt::format("{}: layers {} and {} are added, which differ", network_, a, b));
  return push({.kind = LayerKind::add, .inputs = {a, b}, .map = map});
}

std::int64_t ConvLayers::parameters(const ConvLayer& layer) const {
  switch (layer.kind) {
    case LayerKind::convolution:
      return layer.map.c * (input_of(layer).c / layer.groups) * layer.window.elements();
    case LayerKind::dense:
      return layer.map.c * input_of(layer).elements();
    case LayerKind::bias:
      return layer.map.c;
    case LayerKind::batch_norm:
      return 2 * layer.map.c;
    default:
      return 0;
  }
}

}  // namespace schedlab::detail
