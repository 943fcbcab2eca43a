// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// One sample between two layers: values[height, width, channels]. A sequence has one step per row
/// and width * channels features.
struct SampleShape {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t channels = 1;

  [[nodiscard]] std::int64_t elements() const { return height * width * channels; }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

/// "8x8x1"
[[nodiscard]] std::string to_string(const SampleShape& shape);

enum class NetLayerKind : std::uint8_t { dense, conv2d, max_pool, dropout, lstm };
template <>
struct EnumNames<NetLayerKind> {
  static constexpr auto names = name_list("dense", "conv2d", "max_pool", "dropout", "lstm");
};

/// One layer. Members that a kind does not name are ignored.
///   dense     y[units] = relu?(x[all] * W + b)
///   conv2d    `units` filters of kernel x kernel, stride 1, no padding; relu?
///   max_pool  window x window, stride window; what is left over at the edge is dropped
///   dropout   each value is 0 with probability `rate`, else divided by 1 - rate
///   lstm      over the rows; its last hidden state, or all of them (`sequences`)
struct NetLayerSpec {
  NetLayerKind kind = NetLayerKind::dense;
  std::string name{};
  std::int64_t units = 0;
  std::int64_t kernel = 3;
  std::int64_t window = 2;
  double rate = 0.5;
  bool relu = false;
  bool sequences = false;
  /// Name of an earlier layer of the same kind and sizes whose parameters this one uses too (tied
  /// layers); empty: its own.
  std::string shares{};

  friend bool operator==(const NetLayerSpec&, const NetLayerSpec&) = default;
};

/// A chain of layers for classification; the last layer's values are the logits of the classes.
struct NetSpec {
  SampleShape input;
  std::vector<NetLayerSpec> layers;

  friend bool operator==(const NetSpec&, const NetSpec&) = default;
};

/// Shape of what goes into each layer, and behind them that of the logits.
/// Throws InputError (file empty, pointer "/layers/2/kernel") for a size below 1, a kernel or
/// window larger than its picture, a rate outside [0, 1), a name twice, `shares` of no earlier
/// layer of the same kind and sizes, or no layer at all.
[[nodiscard]] std::vector<SampleShape> layer_shapes(const NetSpec& net);

/// Index of the layer whose parameters each layer uses: its own, or that of `shares`.
[[nodiscard]] std::vector<std::size_t> parameter_owners(const NetSpec& net);

/// Number of parameters of a layer whose samples have shape `input`.
[[nodiscard]] std::int64_t layer_parameters(const NetLayerSpec& layer, const SampleShape& input);

}  // namespace schedlab
