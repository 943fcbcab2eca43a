// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/convolution.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/graph/row_kernels.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace schedlab::literals;

constexpr ConvPass passes[] = {
    ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient};

Operation conv(const ConvShape& shape, ConvPass pass) {
  return {.name = "conv",
          .kind = TaskKind::convolution,
          .task_class = pass == ConvPass::weight_gradient ? TaskClass::weight_gradient
                                                          : TaskClass::unclassified,
          .kernels = {convolution_kernel(shape, pass, DataType::fp32)}};
}

/// Multiply-adds counted one by one, as the definition of a convolution has them; taps on the
/// padding count, as in every published FLOP count.
double counted_multiply_adds(const ConvShape& s) {
  double count = 0;
  for (std::int64_t image = 0; image < s.n; ++image) {
    for (std::int64_t row = 0; row + s.r <= s.h + 2 * s.pad_h; row += s.stride_h) {
      for (std::int64_t column = 0; column + s.s <= s.w + 2 * s.pad_w; column += s.stride_w) {
        count += static_cast<double>(s.k * (s.c / s.groups) * s.r * s.s);
      }
    }
  }
  return count;
}

}  // namespace

TEST_CASE("a convolution counts two FLOP per tap in every pass, however it is cut") {
  Rng rng{11};
  for (int i = 0; i < 200; ++i) {
    const auto pick = [&](std::uint64_t most) {
      return 1 + static_cast<std::int64_t>(rng.below(most));
    };
    ConvShape shape{.n = pick(4), .h = pick(20), .w = pick(20), .r = pick(5), .s = pick(5)};
    shape.groups = pick(4);
    shape.c = shape.groups * pick(8);
    shape.k = shape.groups * pick(8);
    shape.stride_h = pick(3);
    shape.stride_w = pick(3);
    shape.pad_h = shape.r / 2;
    shape.pad_w = shape.s / 2;
    CAPTURE(i);
    for (const ConvPass pass : passes) {
      const Kernel kernel = convolution_kernel(shape, pass, DataType::fp32);
      CHECK(kernel.flops.count() == 2.0 * counted_multiply_adds(shape));
      CHECK(static_cast<double>(kernel.m * kernel.n * kernel.k * shape.groups) ==
            counted_multiply_adds(shape));
    }
  }
}

TEST_CASE("the first layer of ResNet-50: shapes and bytes") {
  // 224 x 224 x 3, 64 filters of 7 x 7 / 2, padding 3: 112 x 112 outputs.
  const ConvShape shape{.n = 32,
                        .c = 3,
                        .h = 224,
                        .w = 224,
                        .k = 64,
                        .r = 7,
                        .s = 7,
                        .stride_h = 2,
                        .stride_w = 2,
                        .pad_h = 3,
                        .pad_w = 3};
  CHECK(shape.p() == 112);
  const Kernel forward = convolution_kernel(shape, ConvPass::forward, DataType::fp16);
  CHECK(forward.m == 64);
  CHECK(forward.n == 32 * 112 * 112);
  CHECK(forward.k == 3 * 7 * 7);
  CHECK(forward.bytes_read == Bytes{2 * (32 * 3 * 224 * 224 + 64 * 3 * 7 * 7)});
  CHECK(forward.bytes_written == Bytes{2 * 32 * 64 * 112 * 112});
  const Kernel weights = convolution_kernel(shape, ConvPass::weight_gradient, DataType::fp16);
  CHECK(weights.k == 32 * 112 * 112);
  CHECK(weights.bytes_written == Bytes{2 * 64 * 3 * 7 * 7});
  const Kernel data = convolution_kernel(shape, ConvPass::data_gradient, DataType::fp16);
  CHECK(data.bytes_written == Bytes{2 * 32 * 3 * 224 * 224});
  CHECK(data.bytes_read == forward.bytes_written + weights.bytes_written);
}

TEST_CASE("a 1 x 1 convolution costs what its matrix product costs, in tiles of one list") {
  const Device device = load_machine("h200").platform.devices[DeviceId{0}];
  const ConvShape shape{.n = 8, .c = 256, .h = 28, .w = 28, .k = 512};
  Operation product{.name = "gemm",
                    .kind = TaskKind::gemm,
                    .kernels = {gemm_kernel(512, 8 * 28 * 28, 256, DataType::fp32, false)}};
  CHECK(TiledGemm{}.estimate(conv(shape, ConvPass::forward), device) ==
        TiledGemm{}.estimate(product, device));
}

TEST_CASE("groups run side by side: each is a product of its own") {
  Platform platform = testing::small_machine();  // 4 units of 1 TFLOP/s, tiles of 100 x 100
  platform.devices[DeviceId{0}].unit_class_of[static_cast<std::size_t>(TaskKind::convolution)] =
      UnitClassId{0};
  const Device& device = platform.devices[DeviceId{0}];
  // Per group 100 outputs x (10 x 10) positions x 1000 taps: one tile of 20 us.
  ConvShape shape{.c = 1000, .h = 10, .w = 10, .k = 100};
  CHECK(TiledGemm{1}.estimate(conv(shape, ConvPass::forward), device).duration == 22us);
  shape.groups = 4;
  shape.c *= 4;
  shape.k *= 4;
  CHECK(TiledGemm{1}.estimate(conv(shape, ConvPass::forward), device).duration == 22us);
  CHECK(TiledGemm{1}.estimate(conv(shape, ConvPass::forward), device).blocks == 4);
}

TEST_CASE("a convolution library has tiles of its own and splits k for weight gradients only") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of[static_cast<std::size_t>(TaskKind::convolution)] = UnitClassId{0};
  device.rates.conv_tiles = {{.m = 50, .n = 50, .efficiency = 0.5}};
  // 100 channels x (10 x 10) positions x 1000 taps: 4 tiles of 2 * 50 * 50 * 1000 / 0.5e12 = 10 us.
  const ConvShape shape{.c = 1000, .h = 10, .w = 10, .k = 100};
  CHECK(TiledGemm{}.estimate(conv(shape, ConvPass::forward), device).duration == 12us);
  // 50 x 25 positions: one tile of 10 us in the forward pass, although three units are idle.
  const ConvShape small{.c = 1000, .h = 5, .w = 5, .k = 50};
  CHECK(TiledGemm{}.estimate(conv(small, ConvPass::forward), device).duration == 12us);
  // Its weight gradient is 50 x 1000 from 25 positions: 20 tiles, 5 waves of 0.25 us; no split
  // pays.
  CHECK(TiledGemm{}.estimate(conv(small, ConvPass::weight_gradient), device).duration ==
        3us + 250ns);
  // Of many positions it is split: 50 x 50 from 10,000 positions is 100 us on one unit, 25 on four.
  const Operation split =
      conv({.n = 100, .c = 50, .h = 10, .w = 10, .k = 50}, ConvPass::weight_gradient);
  CHECK(TiledGemm{1}.estimate(split, device).duration == 102us);
  CHECK(TiledGemm{4}.estimate(split, device).duration > 30us);
  CHECK(TiledGemm{4}.estimate(split, device).duration < 31us);  // 2 + 25 + 1 + 2 + 0.04
}

TEST_CASE("the weight gradient of a small layer has few tiles and a long k: k is split") {
  const Device device = load_machine("v100").platform.devices[DeviceId{0}];
  const Operation gradient = conv({.n = 64, .c = 64, .h = 56, .w = 56, .k = 64},
                                  ConvPass::weight_gradient);  // 64 x 64 from 200,704 positions
  const Duration whole = TiledGemm{1}.estimate(gradient, device).duration;
  const Duration split = TiledGemm{}.estimate(gradient, device).duration;
  CHECK(split < whole / 5);
}

TEST_CASE("a depthwise convolution is bound by memory or by its many tiny products") {
  const Device device = load_machine("h200").platform.devices[DeviceId{0}];
  const Operation depthwise = conv({.n = 32,
                                    .c = 256,
                                    .h = 56,
                                    .w = 56,
                                    .k = 256,
                                    .r = 3,
                                    .s = 3,
                                    .pad_h = 1,
                                    .pad_w = 1,
                                    .groups = 256},
                                   ConvPass::forward);
  const Estimate estimate = TiledGemm{}.estimate(depthwise, device);
  const double peak = device.rates.matrix[static_cast<std::size_t>(DataType::fp32)].count();
  CHECK(depthwise.flops().count() / to_seconds(estimate.duration) < 0.1 * peak);
  CHECK(estimate.share == 1.0);
}

TEST_CASE("shapes that are no convolution are our bug") {
  CHECK_THROWS_AS(static_cast<void>(convolution_kernel(
                      {.h = 2, .w = 2, .r = 3}, ConvPass::forward, DataType::fp32)),
                  ContractViolation);
  CHECK_THROWS_AS(static_cast<void>(convolution_kernel(
                      {.c = 3, .k = 4, .groups = 2}, ConvPass::forward, DataType::fp32)),
                  ContractViolation);
  CHECK_THROWS_AS(static_cast<void>(softmax_kernel(0, 4, DataType::fp32)), ContractViolation);
}

TEST_CASE("softmax and normalisation read and write a row once; a row sum has columns - 1 sums") {
  const Kernel softmax = softmax_kernel(64, 1000, DataType::fp32);
  CHECK(softmax.flops.count() == 5.0 * 64'000);
  CHECK(softmax.bytes_read == Bytes{256'000});
  CHECK(softmax.bytes_written == Bytes{256'000});
  const Kernel norm = normalization_kernel(64, 1000, DataType::fp16);
  CHECK(norm.bytes_read == Bytes{2 * (64'000 + 2'000)});
  const Kernel sum = row_reduction_kernel(64, 1000, DataType::fp32);
  CHECK(sum.flops.count() == 64.0 * 999.0);
  CHECK(sum.bytes_written == Bytes{256});
  const Kernel pool = pooling_kernel(64 * 28 * 28, 64 * 14 * 14, 9, DataType::fp32);
  CHECK(pool.flops.count() == 64.0 * 14 * 14 * 9);
  const Kernel add = pointwise_kernel(1000, 2, 1.0, DataType::fp32);
  CHECK(add.bytes_read == Bytes{8000});
}

}  // namespace schedlab
