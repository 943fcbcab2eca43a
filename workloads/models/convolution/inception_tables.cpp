// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_tables.hpp"

#include <array>
#include <initializer_list>

namespace schedlab::detail {
namespace {

using Layer = ConvLayers::Number;

/// One convolution of a branch: `channels` of r x s, followed by batch normalisation and ReLU.
struct Step {
  std::int64_t channels = 0;
  std::int64_t r = 1;
  std::int64_t s = 1;
  std::int64_t stride = 1;
  bool valid = false;  ///< no padding; else the map keeps its size at stride 1
};

Layer conv(ConvLayers& net, Layer x, const Step& step) {
  const ConvWindow window{.r = step.r,
                          .s = step.s,
                          .stride = step.stride,
                          .pad_h = step.valid ? 0 : step.r / 2,
                          .pad_w = step.valid ? 0 : step.s / 2};
  return net.relu(net.batch_norm(net.convolution(x, step.channels, window)));
}

Layer branch(ConvLayers& net, Layer x, std::initializer_list<Step> steps) {
  for (const Step& step : steps) x = conv(net, x, step);
  return x;
}

/// 3 x 3 with stride 2, without padding: how a grid is halved.
constexpr Step halved(std::int64_t channels) {
  return {channels, 3, 3, 2, true};
}
constexpr ConvWindow halving{.r = 3, .s = 3, .stride = 2};
constexpr ConvWindow smoothing{.r = 3, .s = 3, .stride = 1, .pad_h = 1, .pad_w = 1};

Layer pooled(ConvLayers& net, Layer x, std::int64_t channels) {
  return conv(net, net.average_pool(x, smoothing), {channels});
}

/// 1 x 3 and 3 x 1 side by side.
Layer spread(ConvLayers& net, Layer x, std::int64_t channels) {
  const Layer wide = conv(net, x, {channels, 1, 3});
  const Layer tall = conv(net, x, {channels, 3, 1});
  return net.concat({wide, tall});
}

void add_head(ConvLayers& net, Layer x, std::int64_t classes) {
  net.loss(net.bias(net.dense(net.global_average_pool(x), classes)));
}

// Inception-v3. Names of blocks as in TensorFlow's models and torchvision: A to E.

Layer v3_block_a(ConvLayers& net, Layer x, std::int64_t pool_channels) {
  const Layer one = conv(net, x, {64});
  const Layer five = branch(net, x, {{48}, {64, 5, 5}});
  const Layer three = branch(net, x, {{64}, {96, 3, 3}, {96, 3, 3}});
  return net.concat({one, five, three, pooled(net, x, pool_channels)});
}

Layer v3_block_b(ConvLayers& net, Layer x) {
  const Layer three = conv(net, x, halved(384));
  const Layer twice = branch(net, x, {{64}, {96, 3, 3}, halved(96)});
  return net.concat({three, twice, net.max_pool(x, halving)});
}

Layer v3_block_c(ConvLayers& net, Layer x, std::int64_t width) {
  const Layer one = conv(net, x, {192});
  const Layer seven = branch(net, x, {{width}, {width, 1, 7}, {192, 7, 1}});
  const Layer twice =
      branch(net, x, {{width}, {width, 7, 1}, {width, 1, 7}, {width, 7, 1}, {192, 1, 7}});
  return net.concat({one, seven, twice, pooled(net, x, 192)});
}

Layer v3_block_d(ConvLayers& net, Layer x) {
  const Layer three = branch(net, x, {{192}, halved(320)});
  const Layer seven = branch(net, x, {{192}, {192, 1, 7}, {192, 7, 1}, halved(192)});
  return net.concat({three, seven, net.max_pool(x, halving)});
}

Layer v3_block_e(ConvLayers& net, Layer x) {
  const Layer one = conv(net, x, {320});
  const Layer three = spread(net, conv(net, x, {384}), 384);
  const Layer twice = spread(net, branch(net, x, {{448}, {384, 3, 3}}), 384);
  return net.concat({one, three, twice, pooled(net, x, 192)});
}

/// The second classifier, on the 17 x 17 grid.
void add_auxiliary_head(ConvLayers& net, Layer x, std::int64_t classes) {
  x = net.average_pool(x, {.r = 5, .s = 5, .stride = 3});
  x = branch(net, x, {{128}, {768, 5, 5, 1, true}});
  add_head(net, x, classes);
}

// Inception-v4. Figures 3 to 9 of arXiv 1602.07261.

Layer v4_stem(ConvLayers& net) {
  Layer x = branch(net, ConvLayers::image(), {halved(32), {32, 3, 3, 1, true}, {64, 3, 3}});
  const Layer pool = net.max_pool(x, halving);
  x = net.concat({pool, conv(net, x, halved(96))});
  const Layer three = branch(net, x, {{64}, {96, 3, 3, 1, true}});
  const Layer seven = branch(net, x, {{64}, {64, 1, 7}, {64, 7, 1}, {96, 3, 3, 1, true}});
  x = net.concat({three, seven});
  const Layer reduced = conv(net, x, halved(192));
  return net.concat({reduced, net.max_pool(x, halving)});
}

Layer v4_block_a(ConvLayers& net, Layer x) {
  const Layer one = conv(net, x, {96});
  const Layer three = branch(net, x, {{64}, {96, 3, 3}});
  const Layer twice = branch(net, x, {{64}, {96, 3, 3}, {96, 3, 3}});
  return net.concat({one, three, twice, pooled(net, x, 96)});
}

Layer v4_reduction_a(ConvLayers& net, Layer x) {
  const Layer three = conv(net, x, halved(384));
  const Layer twice = branch(net, x, {{192}, {224, 3, 3}, halved(256)});
  return net.concat({three, twice, net.max_pool(x, halving)});
}

Layer v4_block_b(ConvLayers& net, Layer x) {
  const Layer one = conv(net, x, {384});
  const Layer seven = branch(net, x, {{192}, {224, 1, 7}, {256, 7, 1}});
  const Layer twice = branch(net, x, {{192}, {192, 7, 1}, {224, 1, 7}, {224, 7, 1}, {256, 1, 7}});
  return net.concat({one, seven, twice, pooled(net, x, 128)});
}

Layer v4_reduction_b(ConvLayers& net, Layer x) {
  const Layer three = branch(net, x, {{192}, halved(192)});
  const Layer seven = branch(net, x, {{256}, {256, 1, 7}, {320, 7, 1}, halved(320)});
  return net.concat({three, seven, net.max_pool(x, halving)});
}

Layer v4_block_c(ConvLayers& net, Layer x) {
  const Layer one = conv(net, x, {256});
  const Layer three = spread(net, conv(net, x, {384}), 256);
  const Layer twice = spread(net, branch(net, x, {{384}, {448, 3, 1}, {512, 1, 3}}), 256);
  return net.concat({one, three, twice, pooled(net, x, 256)});
}

}  // namespace

// Table 1 of arXiv 1512.00567 names the blocks; widths inside them are those of the TensorFlow
// models that the authors published (slim, inception_v3.py).
ConvLayers inception_v3_layers(std::int64_t image, std::int64_t classes, bool auxiliary_head) {
  ConvLayers net{"inception_v3", image};
  Layer x = branch(net, ConvLayers::image(), {halved(32), {32, 3, 3, 1, true}, {64, 3, 3}});
  x = net.max_pool(x, halving);
  x = branch(net, x, {{80}, {192, 3, 3, 1, true}});
  x = net.max_pool(x, halving);
  for (const std::int64_t pool_channels : {32, 64, 64}) x = v3_block_a(net, x, pool_channels);
  x = v3_block_b(net, x);
  for (const std::int64_t width : {128, 160, 160, 192}) x = v3_block_c(net, x, width);
  if (auxiliary_head) add_auxiliary_head(net, x, classes);
  x = v3_block_d(net, x);
  for (int i = 0; i < 2; ++i) x = v3_block_e(net, x);
  add_head(net, x, classes);
  return net;
}

ConvLayers inception_v4_layers(std::int64_t image, std::int64_t classes) {
  ConvLayers net{"inception_v4", image};
  Layer x = v4_stem(net);
  for (int i = 0; i < 4; ++i) x = v4_block_a(net, x);
  x = v4_reduction_a(net, x);
  for (int i = 0; i < 7; ++i) x = v4_block_b(net, x);
  x = v4_reduction_b(net, x);
  for (int i = 0; i < 3; ++i) x = v4_block_c(net, x);
  add_head(net, x, classes);
  return net;
}

}  // namespace schedlab::detail
