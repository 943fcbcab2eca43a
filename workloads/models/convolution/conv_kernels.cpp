// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_kernels.hpp"

#include "sim/graph/row_kernels.hpp"

#include <utility>

namespace schedlab::detail {
namespace {

/// A kernel over the channels' rows, batch * h * w elements each.
Kernel over_channels(const ConvShapes& shapes,
                     double flops_per_element,
                     std::int64_t read,
                     std::int64_t written) {
  const std::int64_t element = bytes_per_element(shapes.type);
  return Kernel{.kind = TaskKind::reduction,
                .type = shapes.type,
                .m = shapes.y.c,
                .n = shapes.batch * shapes.y.positions(),
                .flops = Flops{flops_per_element * static_cast<double>(shapes.outputs())},
                .bytes_read = Bytes{read * element},
                .bytes_written = Bytes{written * element}};
}

Kernel with_read(Kernel kernel, std::int64_t elements) {
  kernel.bytes_read += Bytes{elements * bytes_per_element(kernel.type)};
  return kernel;
}

}  // namespace

Kernel conv_kernel(const ConvShapes& shapes, const ConvLayer& layer, ConvPass pass) {
  const ConvWindow& window = layer.window;
  return convolution_kernel({.n = shapes.batch,
                             .c = shapes.x.c,
                             .h = shapes.x.h,
                             .w = shapes.x.w,
                             .k = shapes.y.c,
                             .r = window.r,
                             .s = window.s,
                             .stride_h = window.stride,
                             .stride_w = window.stride,
                             .pad_h = window.pad_h,
                             .pad_w = window.pad_w,
                             .groups = layer.groups},
                            pass,
                            shapes.type);
}

Kernel dense_kernel(const ConvShapes& shapes, ConvPass pass) {
  const std::int64_t in = shapes.x.elements();
  const std::int64_t out = shapes.y.elements();
  switch (pass) {
    case ConvPass::data_gradient:
      return gemm_kernel(shapes.batch, in, out, shapes.type, false);
    case ConvPass::weight_gradient:
      return gemm_kernel(in, out, shapes.batch, shapes.type, false);
    case ConvPass::forward:
      break;
  }
  return gemm_kernel(shapes.batch, out, in, shapes.type, false);
}

Kernel bias_kernel(const ConvShapes& shapes) {
  return with_read(pointwise_kernel(shapes.outputs(), 1, 1.0, shapes.type), shapes.y.c);
}

Kernel bias_gradient_kernel(const ConvShapes& shapes) {
  return row_reduction_kernel(shapes.y.c, shapes.batch * shapes.y.positions(), shapes.type);
}

Kernel relu_kernel(const ConvShapes& shapes) {
  return pointwise_kernel(shapes.outputs(), 1, 1.0, shapes.type);
}

Kernel relu_gradient_kernel(const ConvShapes& shapes) {
  return pointwise_kernel(shapes.outputs(), 2, 1.0, shapes.type);
}

Kernel norm_statistics_kernel(const ConvShapes& shapes) {
  return over_channels(shapes, 4.0, shapes.outputs(), 2 * shapes.y.c);
}

Kernel norm_apply_kernel(const ConvShapes& shapes) {
  return over_channels(shapes, 4.0, shapes.outputs() + 4 * shapes.y.c, shapes.outputs());
}

Kernel norm_sums_kernel(const ConvShapes& shapes) {
  return over_channels(shapes, 5.0, 2 * shapes.outputs() + 2 * shapes.y.c, 2 * shapes.y.c);
}

Kernel norm_data_gradient_kernel(const ConvShapes& shapes) {
  return over_channels(shapes, 6.0, 2 * shapes.outputs() + 5 * shapes.y.c, shapes.outputs());
}

Kernel norm_inference_kernel(const ConvShapes& shapes) {
  return with_read(pointwise_kernel(shapes.outputs(), 1, 2.0, shapes.type), 2 * shapes.y.c);
}

Kernel joined_kernel(Kernel first, const Kernel& second) {
  first.flops += second.flops;
  first.bytes_read += second.bytes_read;
  first.bytes_written += second.bytes_written;
  return first;
}

Kernel response_norm_kernel(const ConvShapes& shapes) {
  return pointwise_kernel(shapes.outputs(), 1, 10.0, shapes.type);
}

Kernel response_norm_gradient_kernel(const ConvShapes& shapes) {
  return pointwise_kernel(shapes.outputs(), 3, 12.0, shapes.type);
}

Kernel pool_kernel(const ConvShapes& shapes, const ConvWindow& window) {
  return pooling_kernel(shapes.inputs(), shapes.outputs(), window.elements(), shapes.type);
}

Kernel max_pool_gradient_kernel(const ConvShapes& shapes, const ConvWindow& window) {
  Kernel kernel = pool_kernel(shapes, window);
  kernel.bytes_written = Bytes{shapes.inputs() * bytes_per_element(shapes.type)};
  return with_read(kernel, 2 * shapes.outputs());
}

Kernel average_pool_gradient_kernel(const ConvShapes& shapes, const ConvWindow& window) {
  Kernel kernel = pool_kernel(shapes, window);
  std::swap(kernel.bytes_read, kernel.bytes_written);
  return kernel;
}

Kernel dropout_kernel(const ConvShapes& shapes) {
  return pointwise_kernel(shapes.outputs(), 1, 2.0, shapes.type);
}

Kernel channel_copy_kernel(const ConvShapes& shapes) {
  return pointwise_kernel(shapes.outputs(), 1, 0.0, shapes.type);
}

Kernel sum_kernel(const ConvShapes& shapes, std::int64_t terms) {
  return pointwise_kernel(shapes.outputs(), terms, static_cast<double>(terms - 1), shapes.type);
}

Kernel softmax_loss_kernel(const ConvShapes& shapes) {
  Kernel kernel = class_softmax_kernel(shapes);
  kernel.flops = Flops{7.0 * static_cast<double>(shapes.outputs())};
  kernel.bytes_written += Bytes{shapes.batch * bytes_per_element(shapes.type)};
  return with_read(kernel, shapes.batch);  // the label of each image
}

Kernel class_softmax_kernel(const ConvShapes& shapes) {
  return softmax_kernel(shapes.batch, shapes.y.elements(), shapes.type);
}

}  // namespace schedlab::detail
