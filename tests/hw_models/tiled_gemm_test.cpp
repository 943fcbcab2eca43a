// SPDX-License-Identifier: Apache-2.0
#include "hw_models/tiled_gemm.hpp"

#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/row_kernels.hpp"
#include "sim/machine/occupancy.hpp"
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
// Without split-k, unless a test says so.
Estimate small(const Operation& operation, const TiledGemm& model = TiledGemm{1}) {
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
  TileChoice choice =
      choose_tile(gemm_kernel(100, 100, 1000, DataType::fp32, false), device, {.max_split = 1});
  CHECK(choice.tile.m == 50);
  CHECK(choice.tiles == 4);
  CHECK(choice.busy_units == 4);
  CHECK(choice.duration == 12us);
  // 200 x 200: four large tiles take 20 us; 16 small ones 4 waves of 10 us.
  choice =
      choose_tile(gemm_kernel(200, 200, 1000, DataType::fp32, false), device, {.max_split = 1});
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
      choose_tile(gemm_kernel(50, 800, 1000, DataType::fp32, false), device, {.max_split = 1});
  CHECK(choice.tile.m == 50);
  CHECK(choice.tile.n == 200);
  CHECK(choice.duration == 22us);
}

TEST_CASE("a unit that cannot load its operands fast enough waits for them") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.unit_bandwidth = 20_GB_per_s;
  // (200 * 1000 + 100 * 100) elements of 4 bytes = 0.84 MB at 20 GB/s = 42 us, more than 20 us.
  const Estimate estimate = TiledGemm{1}.estimate(gemm(100, 100, 1000), device);
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

TEST_CASE("split-k uses idle units and pays for a second kernel that adds up") {
  // 1 tile on 4 units. Split in 4: 2 us + 5 us side by side; gap 1 us; second kernel 2 us and
  // 4 x 100 x 100 sums of 4 bytes at 1 TB/s: 0.16 us.
  CHECK(small(gemm(100, 100, 1000)).duration == 22us);
  const Estimate split = small(gemm(100, 100, 1000), TiledGemm{4});
  CHECK(split.duration == 10us + 160ns);
  CHECK(split.share == 1.0);
  CHECK(small(gemm(100, 100, 1000), TiledGemm{}) == split);  // more parts than units do not help
  // Not worth it for a short k: 100 x 100 x 50 takes 1 us and 2 us of floor.
  CHECK(small(gemm(100, 100, 50), TiledGemm{4}) == small(gemm(100, 100, 50)));
}

TEST_CASE("partial sums that fit half of the cache pass through it") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.l2 = Bytes{320'000};
  device.rates.l2_bandwidth = 4000_GB_per_s;
  // 160 kB of sums are exactly half: 0.04 us instead of 0.16.
  CHECK(TiledGemm{}.estimate(gemm(100, 100, 1000), device).duration == 10us + 40ns);
  device.rates.l2 = Bytes{319'999};
  CHECK(TiledGemm{}.estimate(gemm(100, 100, 1000), device).duration == 10us + 160ns);
}

TEST_CASE("what the cache holds of the operands does not cross the memory") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.l2_bandwidth = 2000_GB_per_s;
  Operation operation = gemm(1000, 1000, 1);  // 8 kB read, 4 MB written
  Kernel& kernel = operation.kernels[0];
  kernel.bytes_read = Bytes{6'000'000};
  CHECK(TiledGemm{}.estimate(operation, device).duration == 12us);  // 10 MB at 1 TB/s
  kernel.bytes_cached = Bytes{4'000'000};
  Estimate estimate = TiledGemm{}.estimate(operation, device);
  CHECK(estimate.duration == 8us);  // 6 MB at 1 TB/s; all 10 MB at 2 TB/s would be 5 us
  CHECK(estimate.bandwidth.count() == doctest::Approx(6e6 / 8e-6));
  kernel.bytes_cached = Bytes{6'000'000};
  CHECK(TiledGemm{}.estimate(operation, device).duration == 7us);  // now the cache is the limit
}

TEST_CASE("products of one shape lie side by side: a batch, or the groups of a convolution") {
  Operation batch = gemm(100, 100, 1000);
  batch.kernels[0].flops = batch.kernels[0].flops * 3.0;
  CHECK(small(batch).duration == 22us);  // 3 tiles on 4 units
  CHECK(small(batch).blocks == 3);
  batch.kernels[0].flops = batch.kernels[0].flops * 2.0;
  CHECK(small(batch).duration == 42us);  // 6 tiles
}

TEST_CASE("a kernel that may use one unit only takes its waves there and leaves the others free") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.units_per_kernel = 1;
  Estimate estimate = TiledGemm{}.estimate(gemm(300, 100, 1000), device);
  CHECK(estimate.duration == 62us);
  CHECK(estimate.share == 0.25);
  device.rates.unit_bandwidth = 250_GB_per_s;
  const Operation moved{.name = "cell",
                        .kind = TaskKind::pointwise,
                        .kernels = {{.kind = TaskKind::pointwise, .bytes_read = Bytes{1'000'000}}}};
  estimate = TiledGemm{}.estimate(moved, device);
  CHECK(estimate.duration == 6us);  // 1 MB at 250 GB/s
  CHECK(estimate.share == 0.25);
  const Operation imported{.name = "imported",
                           .kind = TaskKind::gemm,
                           .kernels = {{.kind = TaskKind::gemm, .flops = Flops{20e6}}}};
  CHECK(TiledGemm{}.estimate(imported, device).duration == 22us);  // 1 of 4 TFLOP/s
}

TEST_CASE(
    "a reduction over few rows gives a row to a unit, or cuts rows up at the price of a kernel") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.unit_bandwidth = 250_GB_per_s;
  const auto reduction = [&](std::int64_t rows, std::int64_t columns) {
    const Operation operation{.name = "sum",
                              .kind = TaskKind::reduction,
                              .kernels = {row_reduction_kernel(rows, columns, DataType::fp32)}};
    return TiledGemm{}.estimate(operation, device).duration;
  };
  // (250 x 1000 - 4 + 4) x 4 B = 1 MB: on one unit 4 us; on four 1 us and a second kernel of 3 us.
  CHECK(reduction(4, 62'499) == 3us);      // a row to each unit
  CHECK(reduction(1, 249'999) == 6us);     // at a tie the single kernel
  CHECK(reduction(1, 2'499'999) == 15us);  // 10 us + 2 us, gap 1 us, 2 us; on one unit 42 us
  CHECK(reduction(2, 124'999) == 4us);     // two units: 2 us; cut up it would be 6 us
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

TEST_CASE("a kernel with a grid of its own keeps it: the fullest unit decides") {
  // 2e9 FLOP in 5 blocks on 4 units of 1 TFLOP/s: two on the fullest, 2 * 0.4 ms.
  Operation five = gemm(1000, 1000, 1000);
  five.kernels[0].grid = {.blocks = 5, .block = {256, 64, 0}};
  const Estimate estimate = small(five);
  CHECK(estimate.duration == 802us);
  CHECK(estimate.blocks == 5);
  CHECK(estimate.blocks_per_unit == 1);
  CHECK(estimate.block == BlockShape{256, 64, 0});
  CHECK(estimate.compute_share == doctest::Approx(800.0 / 802.0));
  CHECK(estimate.share == 1.0);

  // A kernel that may use two units only has three blocks on the fullest.
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.units_per_kernel = 2;
  CHECK(to_us(TiledGemm{}.estimate(five, device).duration) == doctest::Approx(1202));
  CHECK(TiledGemm{}.estimate(five, device).share == 0.5);
}

TEST_CASE("every tile of a machine that the library carries fits on its units") {
  for (const std::string& name : machine_names()) {
    const MachineSpec machine = load_machine(name);
    const Device& device = machine.platform.devices[DeviceId{0}];
    // `blocks` places matrix kernels by their thread blocks: all GPUs must list them.
    for (const GemmTile& tile : device.rates.gemm_tiles) {
      CAPTURE(name);
      CHECK((tile.block.threads > 0) == device.sm_limits.known());
    }
    for (const auto* tiles : {&device.rates.gemm_tiles, &device.rates.conv_tiles}) {
      for (const GemmTile& tile : *tiles) {
        if (tile.block.threads == 0 || !device.sm_limits.known()) continue;
        CAPTURE(name);
        CAPTURE(tile.m);
        CHECK(occupancy(tile.block, device.sm_limits).blocks >= 1);
      }
    }
  }
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
  const Estimate estimate = TiledGemm{1}.estimate(node, device);
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
  const Operation data_gradient = gemm(64, 1024, 4096);
  const TiledGemm whole{GemmOptions{.max_split = 1, .library = LibraryUse::none}};
  const Estimate data = whole.estimate(data_gradient, v100.platform.devices[DeviceId{0}]);
  CHECK(data.share == doctest::Approx(64.0 / 80.0));
  // Libraries then split k, where that is faster in spite of the second kernel.
  const Estimate split = TiledGemm{}.estimate(data_gradient, v100.platform.devices[DeviceId{0}]);
  CHECK(split.duration < data.duration);
  CHECK(split.blocks % 8 == 0);  // 8 tiles of 64 x 128, or more and smaller ones, times the parts
  // The weight gradient over 50 steps is 256 tiles of 128 x 128: all SMs.
  const Estimate weight =
      TiledGemm{}.estimate(gemm(4096, 1024, 3200), v100.platform.devices[DeviceId{0}]);
  CHECK(weight.share == 1.0);
}

}  // namespace schedlab
