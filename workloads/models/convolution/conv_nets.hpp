// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"
#include "workloads/transforms/graph_transforms.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

// Networks of convolutions for images, operator by operator: every task is one kernel, as a
// framework without fusion issues it. Left out: dropout, weight decay, momentum, augmentation.

enum class ConvNetwork : std::uint8_t {
  alexnet,       ///< Krizhevsky et al., NIPS 2012: two groups, response normalisation
  vgg16,         ///< Simonyan and Zisserman, arXiv 1409.1556, table 1, column D
  resnet50,      ///< He et al., arXiv 1512.03385, table 1; stride in the first 1 x 1 of a block
  resnet101,     ///< the same
  inception_v3,  ///< Szegedy et al., arXiv 1512.00567, with the widths of TensorFlow's models
  inception_v4,  ///< Szegedy et al., arXiv 1602.07261, figures 3 to 9
};

enum class ConvNetPass : std::uint8_t {
  forward,   ///< a trained network: kept statistics in batch normalisation, softmax at the end
  training,  ///< forward, loss, backward, gradient descent
};

/// Over which images batch normalisation takes its mean and variance when the batch is split.
enum class BatchStatistics : std::uint8_t {
  per_slice,     ///< each slice its own, as data parallelism does
  synchronized,  ///< the whole batch: sums of all slices are merged twice per normalisation
};

struct ConvNetSpec {
  ConvNetwork network = ConvNetwork::resnet50;
  std::int64_t batch = 32;
  std::int64_t image = 0;  ///< rows and columns; 0: as published
  std::int64_t classes = 1000;
  bool auxiliary_head = false;  ///< inception_v3: the second classifier beside the trunk
  ConvNetPass pass = ConvNetPass::training;
  std::int64_t split = 1;  ///< slices of the batch (transforms/split_batch.hpp); 1: none
  BatchStatistics statistics = BatchStatistics::per_slice;
  DataType type = DataType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  bool transfers = true;
  bool tensors = true;
  GraphTransforms transforms{};  ///< of the graph of a batch, before it is split
};

/// The tasks, with the layer's number in the tag `layer`:
///
///   forward   conv_forward, dense_forward (matmul), bias_add, batch_norm, relu, response_norm,
///             max_pool, average_pool, concat, add, loss (softmax and its gradient)
///   backward  conv_data_gradient, conv_weight_gradient, dense_data_gradient,
///             dense_weight_gradient, bias_gradient, NAME_gradient of the others; gradient_sum
///             where several layers read one map. The image gets no gradient.
///   update    one per layer with parameters, after its gradient and all that read the parameters
///
/// Errors   InfeasibleError if the image is too small for the network's windows, if the batch has
///          fewer images than `split`, if tensors cannot be counted in bytes, or if transforms are
///          asked for without tensors.
[[nodiscard]] TaskGraph conv_net(const ConvNetSpec& spec);
/// Trained numbers; does not depend on batch and split.
[[nodiscard]] std::int64_t parameter_count(const ConvNetSpec& spec);
/// Rows and columns of the published network's image.
[[nodiscard]] std::int64_t published_image(ConvNetwork network);
template <>
struct EnumNames<ConvNetwork> {
  static constexpr auto names =
      name_list("alexnet", "vgg16", "resnet50", "resnet101", "inception_v3", "inception_v4");
};

}  // namespace schedlab
