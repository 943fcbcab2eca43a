// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/convolution.hpp"
#include "sim/graph/task.hpp"
#include "workloads/models/convolution/conv_layers.hpp"

#include <cstdint>

namespace schedlab::detail {

/// What the kernels of one layer are made from: `batch` images whose maps are `x` before and `y`
/// behind the layer.
struct ConvShapes {
  std::int64_t batch = 0;
  FeatureMap x;
  FeatureMap y;
  DataType type = DataType::fp32;

  [[nodiscard]] std::int64_t inputs() const { return batch * x.elements(); }
  [[nodiscard]] std::int64_t outputs() const { return batch * y.elements(); }
};

// A sum, product, comparison, exponential, root or power of one element counts as one FLOP. Tensors
// are read and written once unless stated.

[[nodiscard]] Kernel conv_kernel(const ConvShapes& shapes, const ConvLayer& layer, ConvPass pass);
/// y[batch, out] = x[batch, in] * W, the passes named as those of a convolution.
[[nodiscard]] Kernel dense_kernel(const ConvShapes& shapes, ConvPass pass);
/// 1 FLOP per element; reads the bias of each channel on top.
[[nodiscard]] Kernel bias_kernel(const ConvShapes& shapes);
/// One sum per channel: elements - channels FLOP.
[[nodiscard]] Kernel bias_gradient_kernel(const ConvShapes& shapes);
/// max(x, 0): 1 FLOP.
[[nodiscard]] Kernel relu_kernel(const ConvShapes& shapes);
/// dy where y > 0: 1 FLOP; reads dy and y.
[[nodiscard]] Kernel relu_gradient_kernel(const ConvShapes& shapes);

// Batch normalisation, a row being all elements of a channel, which no local store holds: every
// pass over the data reads it again. FLOP per element:
/// Mean and variance: sum, difference, square, sum: 4. Writes both per channel.
[[nodiscard]] Kernel norm_statistics_kernel(const ConvShapes& shapes);
/// Difference, quotient, scale, shift: 4. Reads four numbers per channel on top.
[[nodiscard]] Kernel norm_apply_kernel(const ConvShapes& shapes);
/// Gradients of scale and shift: x' again (2), dy x' and its sum (2), sum of dy: 5. Reads x and dy.
[[nodiscard]] Kernel norm_sums_kernel(const ConvShapes& shapes);
/// dx = scale / deviation * (dy - mean(dy) - x' mean(dy x')): x' again (2), product, 2 differences,
/// scale: 6. Reads x and dy. Source: Ioffe and Szegedy, arXiv 1502.03167, section 3.
[[nodiscard]] Kernel norm_data_gradient_kernel(const ConvShapes& shapes);
/// With kept statistics: one product and one sum.
[[nodiscard]] Kernel norm_inference_kernel(const ConvShapes& shapes);
/// Two kernels as one: FLOPs and bytes are those of both; shape and kind of the first.
[[nodiscard]] Kernel joined_kernel(Kernel first, const Kernel& second);

/// x / (2 + alpha * sum of 5 squares)^beta: square, 5 sums, product, sum, power, quotient: 10.
/// Source: Krizhevsky et al., NIPS 2012, section 3.3 (n = 5).
[[nodiscard]] Kernel response_norm_kernel(const ConvShapes& shapes);
/// dy / d^beta - c x * sum of 5 (dy y / d): power, quotient, product, quotient, 5 sums, 2 products,
/// difference: 12. Reads x, y and dy.
[[nodiscard]] Kernel response_norm_gradient_kernel(const ConvShapes& shapes);
/// One FLOP per element of each window.
[[nodiscard]] Kernel pool_kernel(const ConvShapes& shapes, const ConvWindow& window);
/// The largest are looked for again: one comparison per element of each window; reads x, y, dy.
[[nodiscard]] Kernel max_pool_gradient_kernel(const ConvShapes& shapes, const ConvWindow& window);
/// One sum per element of each window; reads dy.
[[nodiscard]] Kernel average_pool_gradient_kernel(const ConvShapes& shapes,
                                                  const ConvWindow& window);
/// Either way: compares a random number, which is drawn again from its seed, and scales: 2.
[[nodiscard]] Kernel dropout_kernel(const ConvShapes& shapes);
/// Copies one tensor of y's size: joins channels or takes them apart.
[[nodiscard]] Kernel channel_copy_kernel(const ConvShapes& shapes);
/// Sums `terms` tensors of y's size.
[[nodiscard]] Kernel sum_kernel(const ConvShapes& shapes, std::int64_t terms);
/// Softmax (5), cross entropy's gradient (difference, scale): 7 per logit. Writes the loss of each
/// image and the gradient.
[[nodiscard]] Kernel softmax_loss_kernel(const ConvShapes& shapes);
/// 5 per logit.
[[nodiscard]] Kernel class_softmax_kernel(const ConvShapes& shapes);

}  // namespace schedlab::detail
