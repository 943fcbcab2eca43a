// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/occupancy.hpp"

#include "sim/base/rng.hpp"

#include <array>

using namespace schedlab;

namespace {

constexpr std::uint32_t kib = 1024;

/// Compute capabilities 5.2, 6.0, 7.0, 8.0, 9.0: CUDA C++ Programming Guide and cuda_occupancy.h.
SmLimits limits_of(std::uint32_t sub_partitions,
                   std::uint32_t shared,
                   std::uint32_t per_block,
                   std::uint32_t unit,
                   std::uint32_t reserved) {
  return {.threads = 2048,
          .blocks = 32,
          .registers = 65536,
          .registers_per_thread = 255,
          .register_unit = 256,
          .sub_partitions = sub_partitions,
          .shared_memory = shared * kib,
          .shared_memory_per_block = per_block * kib,
          .shared_memory_unit = unit,
          .reserved_shared_memory = reserved};
}
const std::array<SmLimits, 5> devices{limits_of(4, 96, 48, 256, 0),
                                      limits_of(2, 64, 48, 256, 0),
                                      limits_of(4, 96, 96, 256, 0),
                                      limits_of(4, 164, 163, 128, 1024),
                                      limits_of(4, 228, 227, 128, 1024)};

BlockShape random_shape(Rng& rng) {
  return {.threads = static_cast<std::uint16_t>(1 + rng.below(1024)),
          .registers = static_cast<std::uint16_t>(rng.below(256)),
          .shared_memory = static_cast<std::uint32_t>(rng.below(2) * rng.below(100 * kib))};
}

}  // namespace

TEST_CASE("occupancy is what NVIDIA's calculator gives: M40, P100, V100, A100, H200") {
  // Computed once with cuda_occupancy.h, shared memory at its largest setting.
  struct Row {
    BlockShape shape;
    std::array<std::uint32_t, 5> blocks;
  };
  const std::array<Row, 6> rows{{
      {{256, 32, 0}, {8, 8, 8, 8, 8}},
      {{256, 64, 0}, {4, 4, 4, 4, 4}},
      {{256, 128, 32 * kib}, {2, 2, 2, 2, 2}},
      {{128, 128, 48 * kib}, {2, 1, 2, 3, 4}},
      {{1024, 64, 0}, {1, 1, 1, 1, 1}},
      {{384, 168, 200 * kib}, {0, 0, 0, 0, 1}},
  }};
  for (const Row& row : rows) {
    for (std::size_t device = 0; device < devices.size(); ++device) {
      CAPTURE(row.shape.threads);
      CAPTURE(device);
      CHECK(occupancy(row.shape, devices[device]).blocks == row.blocks[device]);
    }
  }
}

TEST_CASE("the resource that keeps more blocks off is named") {
  const SmLimits& v100 = devices[2];
  CHECK(occupancy({1024, 32, 0}, v100).bound == OccupancyBound::threads);  // 2, registers 2
  CHECK(occupancy({32, 16, 0}, v100).bound == OccupancyBound::blocks);     // 32 of 64 by threads
  CHECK(occupancy({256, 128, 0}, v100).bound == OccupancyBound::registers);
  CHECK(occupancy({64, 32, 40 * kib}, v100).bound == OccupancyBound::shared_memory);
  CHECK(occupancy({1025, 16, 0}, v100).blocks == 0);
  // One warp more than a block can have at 128 registers: 17 warps, spread over 4 parts 5 to one,
  // take 20 * 4096 of 65536 registers.
  CHECK(occupancy({512, 128, 0}, v100).blocks == 1);
  CHECK(occupancy({513, 128, 0}, v100).blocks == 0);
  CHECK(occupancy({32, 256, 0}, v100).blocks == 0);
}

TEST_CASE("as many blocks fit on an empty unit, one by one, as occupancy says") {
  Rng rng{7};
  for (int i = 0; i < 20000; ++i) {
    const SmLimits& limits = devices[rng.below(devices.size())];
    const BlockShape shape = random_shape(rng);
    const std::uint32_t expected = occupancy(shape, limits).blocks;
    if (expected == 0) continue;
    CAPTURE(shape.threads);
    CAPTURE(shape.registers);
    CAPTURE(shape.shared_memory);
    const UnitResources need = block_resources(shape, limits);
    UnitResources unit = unit_resources(limits);
    CHECK(unit.times(need, 1000) == expected);
    unit.take(need, static_cast<std::int32_t>(expected));
    CHECK(unit.times(need, 1000) == 0);
    unit.give(need, static_cast<std::int32_t>(expected));
    CHECK(unit == unit_resources(limits));
  }
}

TEST_CASE("a smaller block never has a lower occupancy") {
  Rng rng{11};
  for (int i = 0; i < 20000; ++i) {
    const SmLimits& limits = devices[rng.below(devices.size())];
    const BlockShape large = random_shape(rng);
    BlockShape small = large;
    small.threads = static_cast<std::uint16_t>(1 + rng.below(large.threads));
    small.registers = static_cast<std::uint16_t>(rng.below(large.registers + 1U));
    small.shared_memory = static_cast<std::uint32_t>(rng.below(large.shared_memory + 1ULL));
    CHECK(occupancy(small, limits).blocks >= occupancy(large, limits).blocks);
  }
}

TEST_CASE("equal blocks of an unknown shape share a unit in equal parts") {
  for (const SmLimits& limits : {SmLimits{}, devices[2]}) {
    for (std::uint32_t per_unit = 1; per_unit <= 96; ++per_unit) {
      CAPTURE(per_unit);
      CHECK(unit_resources(limits).times(part_of_unit(per_unit, limits), 1000) == per_unit);
    }
  }
}
