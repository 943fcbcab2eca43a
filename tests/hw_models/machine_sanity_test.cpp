// SPDX-License-Identifier: Apache-2.0
// Are the numbers of the machines that the library carries consistent with each other and with the
// hardware? Peaks are recomputed from units, clock and FLOP per cycle, which the files do not hold.
#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/machine/occupancy.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

Device device_of(const std::string& name) {
  return load_machine(name).platform.devices[DeviceId{0}];
}

/// Machines for graphs whose tasks have durations of their own.
bool is_theory(const std::string& name) {
  return name == "ideal" || name == "processors";
}

struct Peak {
  const char* machine;
  DataType type;
  bool matrix;
  double units;
  double ghz;
  double flop_per_cycle;  ///< of one unit; a multiply-add is two
};

// Units and rates per cycle: white papers of GP100, GV100, GA100, GH100; CANN platform file of the
// 910B1; Wikipedia on the SW26010-Pro (64 computing cores to a core group); Lu et al. on the
// MT-3000 (16 lanes, 3 multiply-adds); two 256-bit multiply-adds per cycle and core of Zen 4.
constexpr Peak peaks[] = {
    {"m40", DataType::fp32, true, 24, 1.114, 2 * 128},
    {"m40", DataType::fp64, false, 24, 1.114, 2 * 4},
    {"p100", DataType::fp32, true, 56, 1.303, 2 * 64},
    {"p100", DataType::fp64, true, 56, 1.303, 2 * 32},
    {"p100", DataType::fp16, true, 56, 1.303, 2 * 128},
    {"v100", DataType::fp32, true, 80, 1.530, 2 * 64},
    {"v100", DataType::fp16, true, 80, 1.530, 8 * 2 * 64},
    {"v100", DataType::fp64, false, 80, 1.530, 2 * 32},
    {"a100", DataType::fp32, true, 108, 1.410, 2 * 64},
    {"a100", DataType::tf32, true, 108, 1.410, 4 * 2 * 128},
    {"a100", DataType::fp16, true, 108, 1.410, 4 * 2 * 256},
    {"a100", DataType::fp64, true, 108, 1.410, 4 * 2 * 16},
    {"a100", DataType::bf16, false, 108, 1.410, 2 * 128},
    {"a100_40gb", DataType::int8, true, 108, 1.410, 4 * 2 * 512},
    {"h100", DataType::fp32, true, 132, 1.980, 2 * 128},
    {"h100", DataType::fp64, false, 132, 1.980, 2 * 64},
    {"h200", DataType::bf16, true, 132, 1.830, 4 * 2 * 512},
    {"h200", DataType::tf32, true, 132, 1.830, 4 * 2 * 256},
    {"ascend_910b", DataType::fp16, true, 24, 1.850, 2 * 16 * 16 * 16},
    {"sw26010_pro", DataType::fp64, true, 6 * 64, 2.250, 2 * 8},
    {"sw26010_pro", DataType::fp32, false, 6 * 64, 2.250, 2 * 16},
    {"mt_3000", DataType::fp64, true, 96, 1.200, 2 * 3 * 16},
    {"manycore_cpu", DataType::fp64, true, 96, 3.000, 2 * 2 * 4},
    {"manycore_cpu", DataType::fp32, true, 96, 3.000, 2 * 2 * 8},
};

}  // namespace

TEST_CASE("the peaks of the machines are units x clock x FLOP per cycle, to one per cent") {
  for (const Peak& peak : peaks) {
    CAPTURE(peak.machine);
    CAPTURE(to_string(peak.type));
    const DeviceRates rates = device_of(peak.machine).rates;
    const auto& by_type = peak.matrix ? rates.matrix : rates.vector;
    const double expected = peak.units * peak.ghz * 1e9 * peak.flop_per_cycle;
    CHECK(by_type[static_cast<std::size_t>(peak.type)].count() ==
          doctest::Approx(expected).epsilon(0.01));
  }
}

TEST_CASE("nearer memory is faster, and all units together can use the memory") {
  for (const std::string& name : machine_names()) {
    if (is_theory(name)) continue;
    CAPTURE(name);
    const Device device = device_of(name);
    const double memory = device.rates.memory.count() * device.rates.memory_efficiency;
    CHECK(memory > 0.0);
    const double units = device.rates.matrix_units;
    CHECK(units > 0.0);
    CHECK(units * device.rates.unit_bandwidth.count() >= memory);
    if (device.rates.l2_bandwidth > Bandwidth{0.0}) {
      CHECK(device.rates.l2 > Bytes{0});
      CHECK(device.rates.l2_bandwidth.count() > memory);
      // All units together cannot read more from the cache than each may by itself.
      CHECK(device.rates.l2_bandwidth.count() <=
            1.01 * units * device.rates.unit_bandwidth.count());
    }
    CHECK(device.rates.units_per_kernel <= device.rates.matrix_units);
    CHECK(device.memory_capacity > Bytes{1LL << 33});
  }
}

TEST_CASE("larger tiles are listed first and are more efficient, none beats the peak") {
  for (const std::string& name : machine_names()) {
    CAPTURE(name);
    const std::vector<GemmTile> tiles = device_of(name).rates.gemm_tiles;
    for (std::size_t i = 1; i < tiles.size(); ++i) {
      CHECK(tiles[i].m * tiles[i].n < tiles[i - 1].m * tiles[i - 1].n);
      CHECK(tiles[i].efficiency < tiles[i - 1].efficiency);
    }
    if (!tiles.empty()) CHECK(tiles.front().efficiency <= 0.95);
  }
}

TEST_CASE("the tiles of a large fp32 matrix product reach 70 to 95 % of what it may spread over") {
  for (const std::string& name : machine_names()) {
    if (is_theory(name)) continue;
    CAPTURE(name);
    const Device device = device_of(name);
    const Operation product{.name = "gemm",
                            .kind = TaskKind::gemm,
                            .kernels = {gemm_kernel(8192, 8192, 8192, DataType::fp32, false)}};
    // Without the fitted libraries, which say what old ones reached: 0.69 of the peak on an M40.
    const TiledGemm tiles{GemmOptions{.library = LibraryUse::none}};
    const Estimate estimate = tiles.estimate(product, device);
    const double reached = 2.0 * 8192 * 8192 * 8192 / to_seconds(estimate.duration);
    const double peak = device.rates.matrix[static_cast<std::size_t>(DataType::fp32)].count();
    const double most = device.rates.units_per_kernel;
    const double usable = most > 0.0 ? peak * most / device.rates.matrix_units : peak;
    CHECK(reached >= 0.70 * usable);
    CHECK(reached <= 0.95 * usable);
  }
}

TEST_CASE("the share of the peak that a matrix product reaches grows with its size") {
  struct Shape {
    const char* name;
    std::int64_t m, n, k;
  };
  const Shape shapes[] = {{"256 cubed", 256, 256, 256},
                          {"1024 cubed", 1024, 1024, 1024},
                          {"4096 cubed", 4096, 4096, 4096},
                          {"LSTM step 64 x 4096 x 1024", 64, 4096, 1024},
                          {"LSTM data gradient 64 x 1024 x 4096", 64, 1024, 4096},
                          {"LSTM weight gradient 1024 x 4096 x 3200", 1024, 4096, 3200}};
  for (const std::string& name : machine_names()) {
    if (is_theory(name)) continue;
    const Device device = device_of(name);
    const double peak = device.rates.matrix[static_cast<std::size_t>(DataType::fp32)].count();
    const double most = device.rates.units_per_kernel;
    const double usable = most > 0.0 ? peak * most / device.rates.matrix_units : peak;
    std::string line = name;
    std::vector<double> reached;
    for (const Shape& shape : shapes) {
      const Operation product{
          .name = "gemm",
          .kind = TaskKind::gemm,
          .kernels = {gemm_kernel(shape.m, shape.n, shape.k, DataType::fp32, false)}};
      const double seconds = to_seconds(TiledGemm{}.estimate(product, device).duration);
      reached.push_back(product.flops().count() / seconds / usable);
      line += " | " + std::to_string(std::lround(100 * reached.back()));
    }
    MESSAGE(line);
    CAPTURE(name);
    CHECK(reached[0] < reached[1]);
    CHECK(reached[1] < reached[2]);
    CHECK(reached[3] < reached[5]);  // a step is small, the gradient over 50 steps is not
    CHECK(reached[4] < reached[5]);
    CHECK(reached[0] < 0.5);  // 256 cubed fills none of these devices
  }
}

TEST_CASE("core groups and clusters bound a kernel; a second one runs beside it") {
  const Device sunway = device_of("sw26010_pro");
  const Device tianhe = device_of("mt_3000");
  const Operation product{.name = "gemm",
                          .kind = TaskKind::gemm,
                          .kernels = {gemm_kernel(4096, 4096, 4096, DataType::fp32, false)}};
  CHECK(TiledGemm{}.estimate(product, sunway).share == doctest::Approx(1.0 / 6.0));
  CHECK(TiledGemm{}.estimate(product, tianhe).share == doctest::Approx(1.0 / 4.0));
}

TEST_CASE("blocks per multiprocessor by the machine files, against the vendor's calculator") {
  // Computed with cuda_occupancy.h of the CUDA toolkit, shared memory at its largest setting.
  struct Row {
    BlockShape shape;
    std::array<std::uint32_t, 5> blocks;  // m40, p100, v100, a100, h100 and h200
  };
  constexpr std::uint32_t kib = 1024;
  const Row rows[] = {{{256, 32, 0}, {8, 8, 8, 8, 8}},
                      {{256, 64, 0}, {4, 4, 4, 4, 4}},
                      {{256, 128, 32 * kib}, {2, 2, 2, 2, 2}},
                      {{128, 128, 48 * kib}, {2, 1, 2, 3, 4}},
                      {{1024, 64, 0}, {1, 1, 1, 1, 1}},
                      {{384, 168, 200 * kib}, {0, 0, 0, 0, 1}}};
  const std::pair<const char*, std::size_t> machines[] = {{"m40", 0},
                                                          {"p100", 1},
                                                          {"v100", 2},
                                                          {"a100", 3},
                                                          {"a100_40gb", 3},
                                                          {"h100", 4},
                                                          {"h200", 4}};
  for (const auto& [name, column] : machines) {
    CAPTURE(name);
    const SmLimits limits = device_of(name).sm_limits;
    for (const Row& row : rows) {
      CAPTURE(row.shape.threads);
      CHECK(occupancy(row.shape, limits).blocks == row.blocks[column]);
    }
  }
}

TEST_CASE("the two forms of the A100 differ in their memory only") {
  Platform large = load_machine("a100").platform;
  const Platform small = load_machine("a100_40gb").platform;
  Device& device = large.devices[DeviceId{0}];
  const Device& other = small.devices[DeviceId{0}];
  CHECK(device.rates.memory > other.rates.memory);
  device.rates.memory = other.rates.memory;
  device.memory_capacity = other.memory_capacity;
  device.name = other.name;
  REQUIRE(device.profile != nullptr);
  REQUIRE(other.profile != nullptr);
  CHECK(device.profile->libraries[0].pipelined->values ==
        other.profile->libraries[0].pipelined->values);
  device.profile = other.profile;
  CHECK(device == other);
  CHECK(large.hosts == small.hosts);
}

}  // namespace schedlab
