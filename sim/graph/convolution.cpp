// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/convolution.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace schedlab {
namespace {

void expect_sound(const ConvShape& shape) {
  const std::int64_t smallest = std::min({shape.n,
                                          shape.c,
                                          shape.h,
                                          shape.w,
                                          shape.k,
                                          shape.r,
                                          shape.s,
                                          shape.stride_h,
                                          shape.stride_w,
                                          shape.groups});
  const bool sound = smallest > 0 && shape.pad_h >= 0 && shape.pad_w >= 0 &&
                     shape.c % shape.groups == 0 && shape.k % shape.groups == 0 &&
                     shape.r <= shape.h + 2 * shape.pad_h && shape.s <= shape.w + 2 * shape.pad_w;
  SCHEDLAB_EXPECTS(sound,
                   fmt::format("convolution of {}x{}x{}x{} with {} filters {}x{}, {} groups",
                               shape.n,
                               shape.c,
                               shape.h,
                               shape.w,
                               shape.k,
                               shape.r,
                               shape.s,
                               shape.groups));
}

}  // namespace

Kernel convolution_kernel(const ConvShape& shape, ConvPass pass, DataType type) {
  expect_sound(shape);
  const std::int64_t element = bytes_per_element(type);
  const std::int64_t positions = shape.n * shape.p() * shape.q();
  const std::int64_t inputs = shape.c / shape.groups;
  const std::int64_t outputs = shape.k / shape.groups;
  const std::int64_t window = shape.r * shape.s;
  const Bytes x{shape.n * shape.c * shape.h * shape.w * element};
  const Bytes y{shape.n * shape.k * shape.p() * shape.q() * element};
  const Bytes filter{shape.k * inputs * window * element};

  Kernel kernel{.kind = TaskKind::convolution, .type = type};
  switch (pass) {
    case ConvPass::forward:
      std::tie(kernel.m, kernel.n, kernel.k) = std::tuple{outputs, positions, inputs * window};
      std::tie(kernel.bytes_read, kernel.bytes_written) = std::tuple{x + filter, y};
      break;
    case ConvPass::data_gradient:
      std::tie(kernel.m, kernel.n, kernel.k) = std::tuple{inputs, positions, outputs * window};
      std::tie(kernel.bytes_read, kernel.bytes_written) = std::tuple{y + filter, x};
      break;
    case ConvPass::weight_gradient:
      std::tie(kernel.m, kernel.n, kernel.k) = std::tuple{outputs, inputs * window, positions};
      std::tie(kernel.bytes_read, kernel.bytes_written) = std::tuple{x + y, filter};
      break;
  }
  kernel.flops = Flops{2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                       static_cast<double>(kernel.k) * static_cast<double>(shape.groups)};
  return kernel;
}

}  // namespace schedlab
