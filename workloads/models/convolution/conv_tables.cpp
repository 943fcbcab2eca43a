// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_tables.hpp"

#include <array>
#include <string_view>

namespace schedlab::detail {
namespace {

using Number = ConvLayers::Number;

/// A square window.
ConvWindow square(std::int64_t side, std::int64_t stride, std::int64_t pad) {
  return {.r = side, .s = side, .stride = stride, .pad_h = pad, .pad_w = pad};
}

Number conv_bias_relu(ConvLayers& net,
                      Number x,
                      std::int64_t channels,
                      const ConvWindow& window,
                      std::int64_t groups = 1) {
  return net.relu(net.bias(net.convolution(x, channels, window, groups)));
}

Number conv_norm(ConvLayers& net, Number x, std::int64_t channels, const ConvWindow& window) {
  return net.batch_norm(net.convolution(x, channels, window));
}

/// Three dense layers and the loss, as AlexNet and VGG end.
void add_classifier(ConvLayers& net, Number x, std::int64_t classes) {
  constexpr std::int64_t width = 4096;
  x = net.relu(net.bias(net.dense(x, width)));
  x = net.relu(net.bias(net.dense(x, width)));
  net.loss(net.bias(net.dense(x, classes)));
}

/// 1 x 1, 3 x 3, 1 x 1, and the shortcut, which is projected where the shape changes. The stride is
/// that of the first 1 x 1.
Number bottleneck(ConvLayers& net, Number x, std::int64_t width, std::int64_t stride) {
  constexpr std::int64_t expansion = 4;
  const std::int64_t outputs = expansion * width;
  Number y = net.relu(conv_norm(net, x, width, square(1, stride, 0)));
  y = net.relu(conv_norm(net, y, width, square(3, 1, 1)));
  y = conv_norm(net, y, outputs, square(1, 1, 0));
  const bool same = stride == 1 && net.layers()[x].map.c == outputs;
  const Number shortcut = same ? x : conv_norm(net, x, outputs, square(1, stride, 0));
  return net.relu(net.add(y, shortcut));
}

ConvLayers resnet(std::string_view name,
                  std::int64_t image,
                  std::int64_t classes,
                  const std::array<int, 4>& blocks) {
  ConvLayers net{name, image};
  Number x = net.relu(conv_norm(net, ConvLayers::image(), 64, square(7, 2, 3)));
  x = net.max_pool(x, square(3, 2, 1));
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      x = bottleneck(net, x, width, stage > 0 && block == 0 ? 2 : 1);
    }
    width *= 2;
  }
  net.loss(net.bias(net.dense(net.global_average_pool(x), classes)));
  return net;
}

}  // namespace

// Section 3.5 and figure 2. The paper's images of 224 need 227 for its first map of 55 x 55.
ConvLayers alexnet_layers(std::int64_t image, std::int64_t classes) {
  ConvLayers net{"alexnet", image};
  const ConvWindow pool = square(3, 2, 0);
  Number x = conv_bias_relu(net, ConvLayers::image(), 96, square(11, 4, 0));
  x = net.max_pool(net.response_norm(x), pool);
  x = conv_bias_relu(net, x, 256, square(5, 1, 2), 2);
  x = net.max_pool(net.response_norm(x), pool);
  x = conv_bias_relu(net, x, 384, square(3, 1, 1));
  x = conv_bias_relu(net, x, 384, square(3, 1, 1), 2);
  x = conv_bias_relu(net, x, 256, square(3, 1, 1), 2);
  add_classifier(net, net.max_pool(x, pool), classes);
  return net;
}

// Table 1, column D: 13 convolutions of 3 x 3 in five stages.
ConvLayers vgg16_layers(std::int64_t image, std::int64_t classes) {
  struct Stage {
    std::int64_t channels = 0;
    int convolutions = 0;
  };
  constexpr std::array<Stage, 5> stages{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}};
  ConvLayers net{"vgg16", image};
  Number x = ConvLayers::image();
  for (const Stage& stage : stages) {
    for (int i = 0; i < stage.convolutions; ++i) {
      x = conv_bias_relu(net, x, stage.channels, square(3, 1, 1));
    }
    x = net.max_pool(x, square(2, 2, 0));
  }
  add_classifier(net, x, classes);
  return net;
}

// Table 1: blocks of conv2_x to conv5_x.
ConvLayers resnet50_layers(std::int64_t image, std::int64_t classes) {
  return resnet("resnet50", image, classes, {3, 4, 6, 3});
}

ConvLayers resnet101_layers(std::int64_t image, std::int64_t classes) {
  return resnet("resnet101", image, classes, {3, 4, 23, 3});
}

}  // namespace schedlab::detail
