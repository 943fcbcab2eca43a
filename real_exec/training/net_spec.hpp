// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"

#include <cstdint>
#include <optional>
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

enum class NetLayerKind : std::uint8_t {
  dense,
  conv2d,
  max_pool,
  dropout,
  lstm,
  embedding,
  layer_norm,
  attention,
  gelu,
  add
};
template <>
struct EnumNames<NetLayerKind> {
  static constexpr auto names = name_list("dense",
                                          "conv2d",
                                          "max_pool",
                                          "dropout",
                                          "lstm",
                                          "embedding",
                                          "layer_norm",
                                          "attention",
                                          "gelu",
                                          "add");
};

/// One layer. Members that a kind does not name are ignored.
///   dense     y[units] = relu?(x[all] * W + b); `per_row`: of every row by itself
///   conv2d    `units` filters of kernel x kernel, stride 1, no padding; relu?
///   max_pool  window x window, stride window; what is left over at the edge is dropped
///   dropout   each value is 0 with probability `rate`, else divided by 1 - rate
///   lstm      over the rows; its last hidden state, or all of them (`sequences`)
///   embedding a number below `vocabulary` in each row becomes words[number] + positions[row]
///   layer_norm each row less its mean, over its standard deviation, times gain plus bias
///   attention rows of queries, keys and values side by side: softmax(q k / sqrt(width)) v of each
///             of `heads`, over the row and those before
///   gelu      x Phi(x), by tanh
///   add       the sum of what it reads and of layer `adds`
struct NetLayerSpec {
  NetLayerKind kind = NetLayerKind::dense;
  std::string name{};
  std::int64_t units = 0;
  std::int64_t kernel = 3;
  std::int64_t window = 2;
  double rate = 0.5;
  bool relu = false;
  bool sequences = false;
  bool per_row = false;
  std::int64_t vocabulary = 0;
  std::int64_t heads = 1;
  /// Name of an earlier layer of the same kind and sizes whose parameters this one uses too (tied
  /// layers); empty: its own.
  std::string shares{};
  std::string reads{};  ///< name of the earlier layer whose output it reads; empty: the one before
  std::string adds{};   ///< likewise, of an add

  friend bool operator==(const NetLayerSpec&, const NetLayerSpec&) = default;
};

/// Layers for classification, a chain but for `reads` and `adds`; the last layer's values are the
/// logits of the classes.
struct NetSpec {
  SampleShape input;
  std::vector<NetLayerSpec> layers;
  std::int64_t labels = 1;  ///< of a sample: the logits are as many rows, each with one label

  friend bool operator==(const NetSpec&, const NetSpec&) = default;
};

/// Shape of what goes into each layer, and behind them that of the logits.
/// Throws InputError (file empty, pointer "/layers/2/kernel") for a size below 1, a kernel or
/// window larger than its picture, a rate outside [0, 1), a name twice, `shares` of no earlier
/// layer of the same kind and sizes, `reads` or `adds` of no earlier layer, an output that has
/// no reader, or no layer at all.
[[nodiscard]] std::vector<SampleShape> layer_shapes(const NetSpec& net);
/// Shape of what each layer makes.
[[nodiscard]] std::vector<SampleShape> output_shapes(const NetSpec& net);

/// The values that a layer reads: 0 is the sample, i + 1 the output of layer i.
struct LayerReads {
  std::size_t first = 0;
  std::optional<std::size_t> second{};  ///< of an add
};
[[nodiscard]] std::vector<LayerReads> layer_reads(const NetSpec& net);

/// The values that layers from `cut` on read of those before, rising: what a stage that begins
/// there gets. At the end of the net: the logits.
[[nodiscard]] std::vector<std::size_t> live_values(const NetSpec& net, std::size_t cut);
/// Numbers of one sample in them.
[[nodiscard]] std::int64_t live_elements(const NetSpec& net, std::size_t cut);

/// Index of the layer whose parameters each layer uses: its own, or that of `shares`.
[[nodiscard]] std::vector<std::size_t> parameter_owners(const NetSpec& net);

/// One array of a layer's parameters, its last size fastest.
struct ParameterArray {
  std::string name;
  std::vector<std::int64_t> shape;
};
/// Those of a layer whose samples have shape `input`, in their order: weight and bias; of an lstm
/// input, hidden and bias, gate by gate; words and positions; gain and bias. None: no parameters.
[[nodiscard]] std::vector<ParameterArray> parameter_arrays(const NetLayerSpec& layer,
                                                           const SampleShape& input);
/// Number of all of them.
[[nodiscard]] std::int64_t layer_parameters(const NetLayerSpec& layer, const SampleShape& input);

}  // namespace schedlab
