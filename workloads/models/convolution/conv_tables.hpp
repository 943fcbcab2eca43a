// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/convolution/conv_layers.hpp"

#include <cstdint>

namespace schedlab::detail {

// The published tables, from the image to the loss; each function throws what ConvLayers throws.
[[nodiscard]] ConvLayers alexnet_layers(std::int64_t image, std::int64_t classes);
[[nodiscard]] ConvLayers vgg16_layers(std::int64_t image, std::int64_t classes);
[[nodiscard]] ConvLayers resnet50_layers(std::int64_t image, std::int64_t classes);
[[nodiscard]] ConvLayers resnet101_layers(std::int64_t image, std::int64_t classes);
[[nodiscard]] ConvLayers inception_v3_layers(std::int64_t image,
                                             std::int64_t classes,
                                             bool auxiliary_head);
[[nodiscard]] ConvLayers inception_v4_layers(std::int64_t image, std::int64_t classes);

}  // namespace schedlab::detail
