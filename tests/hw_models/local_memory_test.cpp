// SPDX-License-Identifier: Apache-2.0
#include "hw_models/local_memory.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/convolution.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

/// One group of 2 x 2 cores of 1 MFLOP/s, 16 MB/s; 36 bytes hold blocks of one element and no more.
Device small_group() {
  Device device;
  device.name = "small";
  device.rates.matrix[static_cast<std::size_t>(DataType::fp32)] = FlopRate{4e6};
  device.rates.vector[static_cast<std::size_t>(DataType::fp32)] = FlopRate{4e6};
  device.rates.matrix_units = 1;
  device.rates.vector_units = 1;
  device.rates.memory = Bandwidth{16e6};
  device.rates.core_group = {.cores = 4,
                             .local_memory = Bytes{36},
                             .vector = Bytes{4},
                             .efficiency = 0.5,
                             .dma_half_row = Bytes{8},
                             .dma_latency = 1us,
                             .rma = Bandwidth{1e6}};
  device.kernel_floor = 5us;
  return device;
}

Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return gemm_kernel(m, n, k, DataType::fp32, false);
}

Estimate estimate(const Kernel& kernel, const Device& device, bool transposes = false) {
  return LocalMemory{transposes}.estimate({.name = "x", .kind = kernel.kind, .kernels = {kernel}},
                                          device);
}

Device sunway() {
  return load_machine("sw26010_pro").platform.devices[DeviceId{0}];
}

}  // namespace

TEST_CASE("a product takes what its cores, DMA and RMA take") {
  const Device device = small_group();
  const LocalProduct made = local_product(product(4, 4, 4), device, true);
  CHECK(made.block == LocalProduct::Block{.m = 1, .n = 1, .k = 1});
  // Four tiles of 2 x 2 elements; each core has 4 elements of C, 8 FLOP each, at 0.5 MFLOP/s.
  CHECK(made.compute == doctest::Approx(64e-6));
  // Rows of 4 elements in 4 pieces: 16 + 4 * 8 bytes; 4 rows of A and of B twice each.
  CHECK(made.load == doctest::Approx(2 * 2 * 4 * 48 / 16e6));
  CHECK(made.store == doctest::Approx(4 * 48 / 16e6));
  // Of a core's 4 rows and columns (2 in each of 2 tiles) half of k comes from the other core.
  CHECK(made.exchange == doctest::Approx(4.0 * (2 * 4 + 2 * 4) / 1e6));
  CHECK(made.steps == doctest::Approx(8e-6));                // 4 tiles, 2 steps of 2 each
  CHECK(made.fill == doctest::Approx(1e-6 + 32 / 16e6));     // 2 x 2 of A and of B
  CHECK(made.transpose == doctest::Approx(2 * 128 / 16e6));  // both inputs read and written
  CHECK(made.moved_bytes == 256 + 64 + 256);
  CHECK(made.seconds() == doctest::Approx((16 + 3 + 64 + 12) * 1e-6));
}

TEST_CASE(
    "the longest of arithmetic, transfers and latency decides, and every kernel starts cores") {
  Device device = small_group();
  const Estimate computes = estimate(product(4, 4, 4), device);
  CHECK(to_us(computes.duration) == doctest::Approx(3 + 64 + 12 + 5));
  CHECK(computes.bound == Bound::compute);
  CHECK(computes.compute_share == doctest::Approx(64.0 / 84));
  device.rates.memory = Bandwidth{1.6e6};
  const Estimate moves = estimate(product(4, 4, 4), device);
  CHECK(to_us(moves.duration) == doctest::Approx(21 + 480 + 120 + 5));
  CHECK(moves.bound == Bound::memory);
  CHECK(moves.bandwidth.count() == doctest::Approx(320 / 626e-6));
  device.rates.memory = Bandwidth{16e9};
  device.rates.core_group.dma_latency = 1ms;
  CHECK(estimate(product(4, 4, 4), device).bound == Bound::latency);

  // 48 bytes at 16 MB/s, and the first and last transfer; 12 FLOP at 4 MFLOP/s.
  Kernel sum{.kind = TaskKind::pointwise, .type = DataType::fp32, .flops = Flops{12}};
  sum.bytes_read = Bytes{32};
  sum.bytes_written = Bytes{16};
  CHECK(to_us(estimate(sum, small_group()).duration) == doctest::Approx(5 + 2 + 3));
}

TEST_CASE("products side by side follow one another, and a turned product takes as long") {
  const Device device = sunway();
  Kernel heads = product(64, 128, 32);
  const double one = local_product(heads, device, false).seconds();
  heads.flops = heads.flops * 12.0;
  CHECK(to_seconds(estimate(heads, device).duration) ==
        doctest::Approx(12 * one + to_seconds(device.kernel_floor)));
  CHECK(local_product(product(37, 900, 210), device, false).seconds() ==
        local_product(product(900, 37, 210), device, false).seconds());
}

TEST_CASE("larger local memories are never slower") {
  Device device = sunway();
  for (const Kernel& kernel : {product(32, 4096, 9216), product(96, 5408, 2400)}) {
    double before = 1e9;
    for (const std::int64_t kib : {16, 64, 256, 1024}) {
      device.rates.core_group.local_memory = Bytes{kib * 1024};
      const double now = local_product(kernel, device, false).seconds();
      CHECK(now <= before);
      before = now;
    }
  }
}

TEST_CASE("slices of a batch divide convolutions, but not the weights of dense layers") {
  const Device device = sunway();
  const auto conv = [&](std::int64_t images) {  // AlexNet's third
    return to_us(estimate(convolution_kernel({.n = images,
                                              .c = 256,
                                              .h = 13,
                                              .w = 13,
                                              .k = 384,
                                              .r = 3,
                                              .s = 3,
                                              .pad_h = 1,
                                              .pad_w = 1},
                                             ConvPass::forward,
                                             DataType::fp32),
                          device)
                     .duration);
  };
  const auto dense = [&](std::int64_t images) {  // AlexNet's first, 151 MB of weights
    return to_us(estimate(product(images, 4096, 9216), device, true).duration);
  };
  CHECK(conv(8) < 0.3 * conv(32));
  CHECK(dense(8) > 0.9 * dense(32));
  // Read, written and read again at 0.85 of 51.2 GB/s.
  CHECK(dense(8) > 3 * 9216 * 4096 * 4 / (0.85 * 51.2e3));
}

TEST_CASE("devices without groups of cores are refused, as are memories that hold no block") {
  const Device gpu = load_machine("a100").platform.devices[DeviceId{0}];
  CHECK_THROWS_WITH_AS(estimate(product(8, 8, 8), gpu),
                       doctest::Contains("give device/core_group"),
                       InfeasibleError);
  Device device = small_group();
  device.rates.core_group.local_memory = Bytes{35};
  CHECK_THROWS_WITH_AS(
      estimate(product(8, 8, 8), device), doctest::Contains("local_memory_kib"), InfeasibleError);
}

}  // namespace schedlab
