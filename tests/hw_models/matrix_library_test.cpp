// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace schedlab {
namespace {

using namespace schedlab::literals;

Operation gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.name = "gemm",
          .kind = TaskKind::gemm,
          .kernels = {gemm_kernel(m, n, k, DataType::fp32, false)}};
}

MatrixLibrary small_library() {
  MatrixLibrary library;
  library.types = {DataType::fp32};
  library.tiles = {{.m = 100, .n = 100, .efficiency = 0.5}};
  library.call = 3us;
  return library;
}

MatrixLibrary recurrent_library() {
  MatrixLibrary library = small_library();
  library.recurrent = true;
  library.forward = {.fixed = 10us, .memory_share = 0.1, .efficiency = 1.0};
  library.data_gradient = {.fixed = 20us, .memory_share = 1.0, .efficiency = 1.0};
  library.weight_gradient = {
      .fixed = 7us, .efficiency = 0.5, .result_moves = 2, .operand_moves = 3};
  return library;
}

constexpr GemmOptions forward{.library = LibraryUse::recurrent_forward};
constexpr GemmOptions backward{.library = LibraryUse::recurrent_data_gradient};

/// The small machine (a tile of 100 x 100 x 1000 takes 20 us at full efficiency) with a library.
Device device_with(const MatrixLibrary& library) {
  Device device = testing::small_machine().devices[DeviceId{0}];
  auto profile = std::make_shared<KernelProfile>();
  profile->libraries = {library};
  device.profile = profile;
  return device;
}

Duration time_of(const Operation& operation,
                 const MatrixLibrary& library,
                 const GemmOptions& options = {}) {
  return TiledGemm{options}.estimate(operation, device_with(library)).duration;
}

}  // namespace

TEST_CASE("a product runs in the tiles of its library, with what a call takes") {
  const MatrixLibrary library = small_library();
  CHECK(time_of(gemm(400, 100, 1000), library) == 2us + 3us + 40us);
  CHECK(time_of(gemm(500, 100, 1000), library) == 2us + 3us + 80us);  // a second wave
  CHECK(time_of(gemm(400, 100, 1000), library, {.library = LibraryUse::none}) == 22us);
  MatrixLibrary other = library;
  other.types = {DataType::fp16};
  CHECK(time_of(gemm(400, 100, 1000), other) == 22us);
}

TEST_CASE("a transposed operand changes the efficiency of the tiles") {
  MatrixLibrary library = small_library();
  library.layout[static_cast<std::size_t>(GemmLayout::tn)] = 0.8;
  CHECK(time_of(gemm(400, 100, 1000), library, {.layout = GemmLayout::tn}) == 5us + 50us);
  CHECK(time_of(gemm(400, 100, 1000), library, {.layout = GemmLayout::nt}) == 5us + 40us);
}

TEST_CASE("a tile alone on its unit waits in every step of k; tiles that reside wait together") {
  MatrixLibrary library = small_library();
  library.tile_step = from_us(0.1);
  CHECK(time_of(gemm(400, 100, 1000), library) == 5us + 100us);
  CHECK(time_of(gemm(500, 100, 1000), library) == 5us + 200us);  // whole units: one tile resides
  library.tiles[0].block = {.threads = 256, .registers = 32, .shared_memory = 0};
  Device device = device_with(library);
  device.sm_limits = load_machine("v100").platform.devices[DeviceId{0}].sm_limits;  // 8 reside
  CHECK(TiledGemm{}.estimate(gemm(500, 100, 1000), device).duration == 5us + 100us);
  CHECK(TiledGemm{}.estimate(gemm(1200, 100, 1000), device).duration == 5us + 120us);  // 3 x 40
}

TEST_CASE("a library splits k no further than it can") {
  MatrixLibrary library = small_library();
  // Halves: one wave of 2 tiles, 20 us, then gap, floor and 2 x 100 x 100 x 4 B at 1 TB/s.
  library.max_split = 2;
  library.split = 4us;
  CHECK(time_of(gemm(100, 100, 1000), library) == 5us + 20us + 1us + 2us + 4us + from_us(0.08));
  CHECK(time_of(gemm(100, 100, 1000), library, {.max_split = 1}) == 5us + 40us);
}

TEST_CASE("narrow products run in narrow kernels, even where wider ones are faster") {
  MatrixLibrary library = small_library();
  library.narrow_side = 16;
  library.narrow_efficiency = 0.128;
  // 4 tiles of 128 x 16: 2 x 128 x 16 x 1000 FLOP at 0.128 TFLOP/s.
  CHECK(time_of(gemm(512, 16, 1000), library) == 5us + 32us);
  CHECK(time_of(gemm(16, 512, 1000), library) == 5us + 32us);
  CHECK(time_of(gemm(400, 17, 1000), library) == 5us + 40us);
}

TEST_CASE("a step of a library's recurrent layer: weights or arithmetic, in parts of k") {
  MatrixLibrary library = recurrent_library();
  const Duration adding = 1us + 2us + from_us(0.016384);  // 2 sums of 32 x 64 x 4 B at 1 TB/s
  // 2 tiles on 4 units: halves of k. Weights of 64 x 1024 x 4 B at 0.1 TB/s.
  CHECK(time_of(gemm(32, 64, 1024), library, forward) == 10us + from_us(2.62144) + adding);
  // 2 x 32 x 32 x 512 FLOP at 1 and at 0.25 TFLOP/s.
  CHECK(time_of(gemm(32, 64, 1024), library, backward) == 20us + from_us(1.048576) + adding);
  library.data_gradient.efficiency = 0.25;
  CHECK(time_of(gemm(32, 64, 1024), library, backward) == 20us + from_us(4.194304) + adding);
  // Four tiles fill the units, five take a second wave; neither splits k.
  CHECK(time_of(gemm(64, 64, 1024), library, backward) == 20us + from_us(8.388608));
  CHECK(time_of(gemm(32, 160, 1024), library, backward) == 20us + from_us(16.777216));
}

TEST_CASE("a recurrent layer's narrow kernel takes half as long for half the batch") {
  MatrixLibrary library = recurrent_library();
  library.forward.memory_share = 1.0;
  library.forward.narrow_efficiency = 0.125;
  CHECK(time_of(gemm(16, 64, 1024), library, forward) == 10us + from_us(4.194304));
  CHECK(time_of(gemm(8, 64, 1024), library, forward) == 10us + from_us(2.097152));
  MatrixLibrary without = library;
  without.forward.narrow_efficiency = 0;
  CHECK(time_of(gemm(17, 64, 1024), library, forward) ==
        time_of(gemm(17, 64, 1024), without, forward));
  CHECK(time_of(gemm(16, 64, 1024), library, backward) ==
        time_of(gemm(16, 64, 1024), without, backward));
}

TEST_CASE("a recurrent layer's slow kernel takes its time for each step of k") {
  MatrixLibrary library = recurrent_library();
  MatrixLibrary without = library;
  library.forward.slow_step = from_us(0.01);
  CHECK(time_of(gemm(17, 64, 1024), library, forward) == 10us + from_us(10.24));
  CHECK(time_of(gemm(32, 640, 1024), library, forward) == 10us + from_us(10.24));
  for (const std::int64_t batch : {16, 33}) {
    CHECK(time_of(gemm(batch, 64, 1024), library, forward) ==
          time_of(gemm(batch, 64, 1024), without, forward));
  }
}

TEST_CASE("rows a distance apart that is no power of two come at a share of the bandwidth") {
  MatrixLibrary library = recurrent_library();
  library.strided_share = 0.5;
  const Duration adding = 1us + 2us + from_us(0.016384);
  CHECK(time_of(gemm(32, 64, 1000), library, forward) == 10us + from_us(5.12) + adding);
  CHECK(time_of(gemm(32, 64, 1024), library, forward) == 10us + from_us(2.62144) + adding);
  // Only what reads a transposed operand.
  library.data_gradient.memory_share = 0.1;
  CHECK(time_of(gemm(32, 64, 1000), library, backward) == 20us + from_us(2.56) + adding);
  library.memory_share = 0.01;
  library.tiles[0].efficiency = 1.0;
  // (100 x 1000 + 1000 x 100 + 100 x 100) x 4 B at 0.005 and at 0.01 TB/s.
  CHECK(time_of(gemm(100, 100, 1000), library, {.layout = GemmLayout::tn}) == 5us + 168us);
  CHECK(time_of(gemm(100, 100, 1000), library) == 5us + 84us);
}

TEST_CASE("a recurrent layer's weight gradient: arithmetic, then what it moves") {
  const MatrixLibrary library = recurrent_library();
  Operation weights = gemm(100, 100, 1000);
  weights.task_class = TaskClass::weight_gradient;
  // 20 MFLOP at 2 TFLOP/s; (2 x 100 x 100 + 3 x 2 x 100 x 1000) x 4 B at 1 TB/s.
  CHECK(time_of(weights, library, forward) == 7us + 10us + from_us(2.48));
  CHECK(time_of(weights, library, backward) == 7us + 10us + from_us(2.48));
  CHECK(time_of(weights, library) == 5us + 40us);
}

TEST_CASE("libraries alone are no calibration") {
  const Device m40 = load_machine("m40").platform.devices[DeviceId{0}];
  REQUIRE(m40.profile != nullptr);
  CHECK(calibrated_profile(m40) == nullptr);
  CHECK(default_cost_model_of(m40) == default_cost_model);
}

TEST_CASE("what is wrong with a library is said with its place") {
  std::string text{machine_text("m40")};
  const std::string types = "\"types\": [\"fp32\"]";
  REQUIRE(text.find(types) != std::string::npos);
  text.replace(text.find(types), types.size(), "\"types\": [\"fp31\"]");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_machine(text, "m40.json")),
                       doctest::Contains("/device/matrix_libraries/0/types/0"),
                       InputError);
}

}  // namespace schedlab
