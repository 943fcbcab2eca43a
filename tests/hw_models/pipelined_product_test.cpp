// SPDX-License-Identifier: Apache-2.0
#include "hw_models/pipelined_product.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/robust_fit.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/machine/cost_evidence.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>

namespace schedlab {
namespace {

using P = ProductParameter;

/// Everything but the floor and the arithmetic costs next to nothing.
PipelinedProducts arithmetic_alone() {
  PipelinedProducts products;
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    products.values[i].value = product_parameters()[i].minimum;
  }
  for (const P rate :
       {P::unit_gb_per_s, P::cache_gb_per_s, P::split_gb_per_s, P::epilogue_gb_per_s}) {
    products.of(rate).value = 1e9;
  }
  products.of(P::floor_us).value = 2;
  products.of(P::tile_us).value = 0;
  products.of(P::step_ns).value = 0;
  products.of(P::memory_share).value = 1;
  products.of(P::memory_latency_us).value = 0;
  products.of(P::overlap).value = 20;
  products.of(P::wave_quantization).value = 1;
  products.of(P::sustained_loss).value = 0;
  return products;
}

// A unit computes 128 x 128 x 640 (2.097e7 FLOP) in 10 us; memory moves 1 GB a us.
constexpr PipelinedDevice ten_units{
    .units = 10, .unit_flop = 2.097152e6, .memory_byte = 1e9, .cache_bytes = 0, .element_bytes = 2};

ProductShape shape(double m, double n, double k) {
  return {.m = m, .n = n, .k = k, .a_bytes = 2 * m * k, .b_bytes = 2 * n * k, .c_bytes = 2 * m * n};
}

double us(const PipelinedProducts& products, const ProductShape& of, int split = 1) {
  return pipelined_time(products, {128, 128, 1.0, split}, of, ten_units).us;
}

}  // namespace

TEST_CASE("whole waves with wave_quantization 1, a divided last wave with 0") {
  PipelinedProducts products = arithmetic_alone();
  CHECK(us(products, shape(1280, 128, 640)) == doctest::Approx(12.0));  // 10 tiles: a wave
  CHECK(us(products, shape(1408, 128, 640)) == doctest::Approx(22.0));  // 11 tiles: two
  products.of(P::wave_quantization).value = 0;
  CHECK(us(products, shape(1408, 128, 640)) == doctest::Approx(13.0));  // 1.1 waves of 10 us
  CHECK(us(products, shape(128, 128, 640)) == doctest::Approx(12.0));   // a tile is not divided
}

TEST_CASE("parts of k run side by side, and a second kernel adds their sums") {
  PipelinedProducts products = arithmetic_alone();
  products.of(P::split_us).value = 3;
  // One tile in two parts of 320: 5 us, floor 2, second kernel 3.
  CHECK(us(products, shape(128, 128, 640), 2) == doctest::Approx(10.0));
}

TEST_CASE("each tile of a wave fills and drains its pipeline, less what the next one hides") {
  PipelinedProducts products = arithmetic_alone();
  products.of(P::tile_us).value = 4;
  products.of(P::epilogue_overlap).value = 0;
  CHECK(us(products, shape(1408, 128, 640)) == doctest::Approx(2 + 20 + 2 * 4));
  products.of(P::epilogue_overlap).value = 1;
  CHECK(us(products, shape(1408, 128, 640)) == doctest::Approx(2 + 20 + 4));
}

TEST_CASE("a pipeline that few steps of k do not fill costs their share") {
  PipelinedProducts products = arithmetic_alone();
  products.of(P::tile_us).value = 4;
  products.of(P::fill_steps).value = 20;
  CHECK(us(products, shape(128, 128, 640)) == doctest::Approx(2 + 10 + 2));   // 10 steps of 64
  CHECK(us(products, shape(128, 128, 2560)) == doctest::Approx(2 + 40 + 4));  // 40 steps
}

TEST_CASE("operands come from the cache if what is used between two uses fits") {
  PipelinedProducts products = arithmetic_alone();
  products.of(P::cache_use).value = 1;
  PipelinedDevice device = ten_units;
  device.cache_bytes = 2e6;  // A, C 0.13 MB, B 0.8 MB: all fit once, six B do not
  const Kernel kernel = gemm_kernel(64, 640, 640, DataType::bf16, false);
  const auto missing = [&](OperandReading reading) {
    const ProductShape found = product_shape(kernel, products, device, reading);
    return found.b_bytes / (2.0 * 640 * 640);
  };
  CHECK(missing(OperandReading::cold) == 1.0);
  CHECK(missing(OperandReading::warm) < 0.1);
  CHECK(missing(OperandReading::as_measured) > 0.9);
  Kernel known = kernel;
  known.bytes_cached = known.bytes_read;
  CHECK(product_shape(known, products, device, OperandReading::cold).b_bytes == 0.0);
}

TEST_CASE("a machine with a pipelined library is written and read back equal, and is calibrated") {
  MachineSpec machine = load_machine("h200");
  Device& device = machine.platform.devices[DeviceId{0}];
  MatrixLibrary library;
  library.name = "products of a test";
  library.source = "a test, 2026-11-24: schedlab calibrate";
  library.types = {DataType::bf16};
  library.tiles = {{.m = 128, .n = 256, .efficiency = 0.8}};
  library.pipelined.emplace();
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    const ParameterInfo& info = product_parameters()[i];
    library.pipelined->values[i] = {info.start, info.minimum, info.maximum};
  }
  library.pipelined->efficiencies = {{0.8, 0.7, 0.9}};
  auto profile = std::make_shared<KernelProfile>();
  profile->libraries = {library};
  device.profile = profile;
  const MachineSpec again = read_machine(write_machine(machine), "again");
  const Device& read = again.platform.devices[DeviceId{0}];
  REQUIRE(read.profile != nullptr);
  REQUIRE(read.profile->libraries.size() == 1);
  CHECK(read.profile->libraries[0].pipelined == library.pipelined);
  CHECK(read.profile->libraries[0].source == library.source);
  CHECK(cost_evidence(read) == CostEvidence::calibrated);
  CHECK(TiledGemm{}
            .estimate({.name = "gemm",
                       .kind = TaskKind::gemm,
                       .kernels = {gemm_kernel(64, 640, 640, DataType::bf16, false)}},
                      read)
            .duration > from_us(2.0));
}

TEST_CASE("a robust fit finds a line in spite of outliers, and says how well it knows it") {
  // y = 3 + 2 x at 40 points; every tenth is 50 too high.
  const ResidualsAt residuals = [](const std::vector<double>& at, std::vector<double>& out) {
    out.resize(40);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto x = static_cast<double>(i) / 10.0;
      const double noise = (i % 2 == 0 ? 0.01 : -0.01) + (i % 10 == 9 ? 50.0 : 0.0);
      out[i] = at[0] + at[1] * x - (3.0 + 2.0 * x + noise);
    }
  };
  const RobustFit fit =
      fit_robustly(residuals, {0, 0, 5}, {{-10, 10}, {-10, 10}, {0, 9}}, 0.05, 100);
  CHECK(fit.values[0] == doctest::Approx(3).epsilon(0.02));
  CHECK(fit.values[1] == doctest::Approx(2).epsilon(0.02));
  CHECK(fit.intervals[1].first < 2.0);
  CHECK(fit.intervals[1].second > 2.0);
  CHECK(fit.intervals[2] == std::pair<double, double>{0, 9});  // changes nothing: not determined
}

}  // namespace schedlab
