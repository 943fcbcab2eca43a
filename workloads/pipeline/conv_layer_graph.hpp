// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/layer_graph.hpp"
#include "workloads/models/convolution/conv_layers.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <string>

namespace schedlab::detail {

/// The MNIST network of system S5: conv 3 x 3 x 32, conv 3 x 3 x 64, pool 2, dropout, dense 128,
/// dropout, dense 10, softmax; 1,199,882 parameters for images of 28 x 28.
[[nodiscard]] ConvLayers mnist_cnn_layers(std::int64_t image, std::int64_t classes);

/// The network for pipelines: bias, normalisation, activation and loss belong to the layer that
/// they follow, if it has no other readers. The image is no layer: the first layers keep it. A
/// layer keeps what its own backward pass or that of its readers needs.
[[nodiscard]] LayerGraph conv_layer_graph(const ConvLayers& net,
                                          const std::string& name,
                                          std::int64_t samples,
                                          DataType type,
                                          Optimizer optimizer);

}  // namespace schedlab::detail
