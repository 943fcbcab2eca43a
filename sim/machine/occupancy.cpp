// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/occupancy.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>

namespace schedlab {
namespace {

constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();
/// Divisible by every number of blocks per unit up to 10, 12, 14, 15, 16, 18, 20, 24, 28, 30, 32...
constexpr std::int32_t unit_slots = 10080;

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}
std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return ceil_div(value, unit) * unit;
}
std::uint32_t warps_of(const BlockShape& shape) {
  return ceil_div(shape.threads, warp_size);
}
std::uint32_t max_blocks(const SmLimits& limits) {
  return limits.blocks != 0 ? limits.blocks : limits.threads / warp_size;
}
std::uint32_t allocated_shared_memory(const BlockShape& shape, const SmLimits& limits) {
  return round_up(shape.shared_memory + limits.reserved_shared_memory, limits.shared_memory_unit);
}

std::uint32_t by_registers(const BlockShape& shape, const SmLimits& limits) {
  if (shape.registers == 0 || limits.registers == 0) return unlimited;
  if (limits.registers_per_thread != 0 && shape.registers > limits.registers_per_thread) return 0;
  const std::uint32_t per_warp = round_up(shape.registers * warp_size, limits.register_unit);
  const std::uint32_t parts = limits.sub_partitions;
  const std::uint32_t warps = warps_of(shape);
  if (std::uint64_t{per_warp} * round_up(warps, parts) > limits.registers) return 0;
  return limits.registers / parts / per_warp * parts / warps;
}

std::uint32_t by_shared_memory(const BlockShape& shape, const SmLimits& limits) {
  if (limits.shared_memory == 0) return unlimited;
  const std::uint32_t max_asked =
      limits.shared_memory_per_block != 0 ? limits.shared_memory_per_block : limits.shared_memory;
  if (shape.shared_memory > max_asked) return 0;
  const std::uint32_t taken = allocated_shared_memory(shape, limits);
  return taken == 0 ? unlimited : limits.shared_memory / taken;
}

std::int32_t part(std::int32_t whole, std::uint32_t of) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(whole) / of);
}

}  // namespace

Occupancy occupancy(const BlockShape& shape, const SmLimits& limits) {
  SCHEDLAB_EXPECTS(shape.threads >= 1 && limits.known(),
                   "occupancy needs the threads of the block and of the unit");
  if (shape.threads > max_threads_per_block) return {.blocks = 0};
  Occupancy result{.blocks = limits.threads / warp_size / warps_of(shape)};
  const auto cap = [&result](std::uint32_t blocks, OccupancyBound bound) {
    if (blocks < result.blocks) result = {.blocks = blocks, .bound = bound};
  };
  cap(max_blocks(limits), OccupancyBound::blocks);
  cap(by_registers(shape, limits), OccupancyBound::registers);
  cap(by_shared_memory(shape, limits), OccupancyBound::shared_memory);
  return result;
}

std::uint32_t UnitResources::times(const UnitResources& need, std::uint32_t most) const {
  std::uint32_t result = most;
  const auto cap = [&result](std::int32_t have, std::int32_t wanted) {
    if (wanted > 0) result = std::min(result, static_cast<std::uint32_t>(have / wanted));
  };
  cap(slots, need.slots);
  cap(warps, need.warps);
  cap(blocks, need.blocks);
  cap(registers, need.registers);
  cap(shared_memory, need.shared_memory);
  return result;
}

void UnitResources::take(const UnitResources& need, std::int32_t count) {
  slots -= count * need.slots;
  warps -= count * need.warps;
  blocks -= count * need.blocks;
  registers -= count * need.registers;
  shared_memory -= count * need.shared_memory;
}

UnitResources unit_resources(const SmLimits& limits) {
  UnitResources unit{.slots = unit_slots};
  if (!limits.known()) return unit;
  unit.warps = static_cast<std::int32_t>(limits.threads / warp_size);
  unit.blocks = static_cast<std::int32_t>(max_blocks(limits));
  unit.registers = static_cast<std::int32_t>(limits.registers);
  unit.shared_memory = static_cast<std::int32_t>(limits.shared_memory);
  return unit;
}

UnitResources block_resources(const BlockShape& shape, const SmLimits& limits) {
  SCHEDLAB_EXPECTS(occupancy(shape, limits).blocks >= 1, "no block of this shape fits on a unit");
  UnitResources need{.warps = static_cast<std::int32_t>(warps_of(shape)), .blocks = 1};
  const std::uint32_t fitting = by_registers(shape, limits);
  // floor(R / f) is what f + 1 blocks do not fit with: R = q f + r, r < f <= q, so q (f + 1) > R.
  if (fitting != unlimited) {
    need.registers = static_cast<std::int32_t>(limits.registers / fitting);
  }
  if (limits.shared_memory != 0) {
    need.shared_memory = static_cast<std::int32_t>(allocated_shared_memory(shape, limits));
  }
  return need;
}

UnitResources part_of_unit(std::uint32_t per_unit, const SmLimits& limits) {
  const UnitResources unit = unit_resources(limits);
  return {.slots = part(unit.slots, per_unit),
          .warps = part(unit.warps, per_unit),
          .blocks = part(unit.blocks, per_unit),
          .registers = part(unit.registers, per_unit),
          .shared_memory = part(unit.shared_memory, per_unit)};
}

}  // namespace schedlab
