// SPDX-License-Identifier: Apache-2.0
#include "hw_models/tiled_gemm.hpp"

#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace schedlab::literals;

Operation gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.name = "gemm",
          .kind = TaskKind::gemm,
          .kernels = {gemm_kernel(m, n, k, DataType::fp32, false)}};
}

// On the small machine a tile of 100 x 100 x 1000 is 2e7 FLOP on a unit of 1 TFLOP/s: 20 us. Every
// kernel has 2 us on top.
Estimate small(const Operation& operation, const TiledGemm& model = TiledGemm{}) {
  return model.estimate(operation, testing::small_machine().devices[DeviceId{0}]);
}

}  // namespace

TEST_CASE("tiles that fit the units side by side take the time of one") {
  // 3 tiles on 4 units: one wave. Bytes: (300 * 1000 + 1000 * 100 + 300 * 100) * 4 = 1.72 MB.
  const Estimate estimate = small(gemm(300, 100, 1000));
  CHECK(estimate.duration == 22us);
  CHECK(estimate.share == 0.75);
  CHECK(estimate.bound == Bound::compute);
  CHECK(estimate.bandwidth.count() == doctest::Approx(1.72e6 / 22e-6));
}

TEST_CASE("a tile more than the units hold costs a whole wave more: the tail effect") {
  CHECK(small(gemm(400, 100, 1000)).duration == 22us);  // 4 tiles, 1 wave
  CHECK(small(gemm(500, 100, 1000)).duration == 42us);  // 5 tiles, 2 waves
  CHECK(small(gemm(300, 300, 1000)).duration == 62us);  // 9 tiles, 3 waves
  CHECK(small(gemm(300, 300, 1000)).blocks == 9);
  CHECK(small(gemm(500, 100, 1000)).share == 1.0);
}

TEST_CASE("a partial tile costs a full one") {
  CHECK(small(gemm(301, 100, 1000)).duration == small(gemm(400, 100, 1000)).duration);
  CHECK(small(gemm(301, 100, 1000)).share == 1.0);  // 4 tiles
  CHECK(small(gemm(1, 1, 1000)).duration == 22us);
}

TEST_CASE("the tile with the shortest time is chosen, as libraries do") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.gemm_tiles.push_back({.m = 50, .n = 50, .efficiency = 0.5});
  // 100 x 100: one large tile takes 20 us; four small ones 2 * 50 * 50 * 1000 / 0.5e12 = 10 us.
  TileChoice choice = choose_tile(gemm_kernel(100, 100, 1000, DataType::fp32, false), device, 1);
  CHECK(choice.tile.m == 50);
  CHECK(choice.tiles == 4);
  CHECK(choice.busy_units == 4);
  CHECK(choice.duration == 12us);
  // 200 x 200: four large tiles take 20 us; 16 small ones 4 waves of 10 us.
  choice = choose_tile(gemm_kernel(200, 200, 1000, DataType::fp32, false), device, 1);
  CHECK(choice.tile.m == 100);
  CHECK(choice.waves == 1);
  CHECK(choice.duration == 22us);
}

TEST_CASE("a tile may lie across") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.gemm_tiles = {{.m = 200, .n = 50, .efficiency = 1.0}};
  // 50 x 800 in tiles of 50 x 200: 4 tiles, one wave of 20 us. Upright it would be 16 tiles.
  const TileChoice choice =
      choose_tile(gemm_kernel(50, 800, 1000, DataType::fp32, false), device, 1);
  CHECK(choice.tile.m == 50);
  CHECK(choice.tile.n == 200);
  CHECK(choice.duration == 22us);
}

TEST_CASE("a unit that cannot load its operands fast enough waits for them") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.unit_bandwidth = 20_GB_per_s;
  // (200 * 1000 + 100 * 100) elements of 4 bytes = 0.84 MB at 20 GB/s = 42 us, more than 20 us.
  const Estimate estimate = TiledGemm{}.estimate(gemm(100, 100, 1000), device);
  CHECK(estimate.duration == 44us);
}

TEST_CASE("a matrix kernel that moves more than it computes is bound by memory") {
  // k = 1: 1000 x 1000 outputs of 4 MB, 4.008 us at 1 TB/s with its inputs of 8 kB.
  // 100 tiles on 4 units are 25 waves of 2 * 100 * 100 / 1e12 = 0.02 us: 0.5 us.
  const Estimate estimate = small(gemm(1000, 1000, 1));
  CHECK(estimate.duration >= Duration{2'000'000 + 4'008'000});
  CHECK(estimate.duration <= Duration{2'000'000 + 4'008'001});  // rounded up
  CHECK(estimate.bound == Bound::memory);
}

TEST_CASE("split-k uses idle units, pays for adding up, and is off unless asked for") {
  // 1 tile on 4 units. Split in 4: 5 us each side by side, and a second kernel of at least 2 us.
  CHECK(small(gemm(100, 100, 1000)).duration == 22us);
  const Estimate split = small(gemm(100, 100, 1000), TiledGemm{4});
  CHECK(split.duration == 9us);
  CHECK(split.share == 1.0);
  // Not worth it for a short k: 100 x 100 x 50 takes 1 us and 2 us of floor.
  CHECK(small(gemm(100, 100, 50), TiledGemm{4}) == small(gemm(100, 100, 50)));
}

TEST_CASE("a small point-wise kernel uses few units, a large one all, at most the bandwidth") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.pointwise_bytes_per_unit = Bytes{1'000'000};
  device.rates.unit_bandwidth = 500_GB_per_s;
  const auto pointwise = [](std::int64_t bytes) {
    return Operation{.name = "cell",
                     .kind = TaskKind::pointwise,
                     .kernels = {{.kind = TaskKind::pointwise, .bytes_written = Bytes{bytes}}}};
  };
  // 0.5 MB on one unit at 500 GB/s = 1 us.
  Estimate estimate = TiledGemm{}.estimate(pointwise(500'000), device);
  CHECK(estimate.duration == 3us);
  CHECK(estimate.share == 0.25);
  CHECK(estimate.bound == Bound::latency);
  // 1.5 MB: two units, the fuller one has 1 MB = 2 us; all of it at 1 TB/s would be 1.5 us.
  estimate = TiledGemm{}.estimate(pointwise(1'500'000), device);
  CHECK(estimate.duration == 4us);
  CHECK(estimate.share == 0.5);
  // 40 MB on all units at 1 TB/s = 40 us.
  estimate = TiledGemm{}.estimate(pointwise(40'000'000), device);
  CHECK(estimate.duration == 42us);
  CHECK(estimate.blocks == 40);  // of 1 MB
  CHECK(estimate.share == 1.0);
  CHECK(estimate.bound == Bound::memory);
}

TEST_CASE("a composite runs its kernels in turn and holds the units of the widest one") {
  // 22 us on 3 units, gap 1 us, 22 us on 1 unit.
  const Operation node{.name = "node",
                       .kind = TaskKind::composite,
                       .kernels = {gemm_kernel(300, 100, 1000, DataType::fp32, false),
                                   gemm_kernel(100, 100, 1000, DataType::fp32, false)}};
  const Estimate estimate = small(node);
  CHECK(estimate.duration == 45us);
  CHECK(estimate.blocks == 0);
  CHECK(estimate.share == 0.75);
}

TEST_CASE("kernels on other units add their time to a composite but hold nothing there") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  const UnitClassId vector = device.unit_classes.push_back({.name = "vector", .count = 4});
  device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] = vector;
  // The point-wise kernel would take all four vector units: 10 MB at 1 TB/s = 10 us + 2 us.
  const Operation node{.name = "node",
                       .kind = TaskKind::composite,
                       .kernels = {gemm_kernel(100, 100, 1000, DataType::fp32, false),
                                   {.kind = TaskKind::pointwise, .bytes_read = Bytes{10'000'000}}}};
  const Estimate estimate = TiledGemm{}.estimate(node, device);
  CHECK(estimate.duration == 35us);  // 22 + 1 + 12
  CHECK(estimate.share == 0.25);
}

TEST_CASE("without tiles or with unlimited units a matrix kernel fills the device") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.gemm_tiles.clear();
  // 2e7 FLOP at 4 TFLOP/s = 5 us.
  CHECK(TiledGemm{}.estimate(gemm(100, 100, 1000), device).duration == 7us);
  CHECK(TiledGemm{}.estimate(gemm(100, 100, 1000), device).share == 1.0);
  // A kernel that is known by its work only: 40 GFLOP at 4 TFLOP/s and the best tile's efficiency.
  device.rates.gemm_tiles = {{.m = 64, .n = 64, .efficiency = 0.5},
                             {.m = 8, .n = 8, .efficiency = 0.1}};
  const Operation imported{.name = "imported",
                           .kind = TaskKind::convolution,
                           .kernels = {{.kind = TaskKind::convolution, .flops = Flops{40e9}}}};
  CHECK(TiledGemm{}.estimate(imported, device).duration == 20ms + 2us);
}

TEST_CASE("work beyond what integer time can hold is refused by the operation's name") {
  const Operation endless{.name = "endless",
                          .kind = TaskKind::gemm,
                          .kernels = {{.kind = TaskKind::gemm,
                                       .m = std::int64_t{1} << 40,
                                       .n = 1,
                                       .k = std::int64_t{1} << 40,
                                       .flops = Flops{2.4e24}}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(small(endless)),
                       doctest::Contains("operation \"endless\""),
                       InfeasibleError);
}

TEST_CASE("the recurrent GEMMs of an LSTM leave most of a GPU idle") {
  // Data gradient [64, 4096] x [4096, 1024] in fp32: 64 x 1024 is 8 tiles of 64 x 128, 16 of 64 x
  // 64 or 64 of 32 x 32; no tile gives work to all 80 SMs.
  const MachineSpec v100 = load_machine("v100");
  const Estimate data =
      TiledGemm{}.estimate(gemm(64, 1024, 4096), v100.platform.devices[DeviceId{0}]);
  CHECK(data.share == doctest::Approx(64.0 / 80.0));
  // The weight gradient over 50 steps is 256 tiles of 128 x 128: all SMs.
  const Estimate weight =
      TiledGemm{}.estimate(gemm(4096, 1024, 3200), v100.platform.devices[DeviceId{0}]);
  CHECK(weight.share == 1.0);
}

}  // namespace schedlab
