// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

/// Threads that are scheduled together; so on every CUDA device so far.
inline constexpr std::uint32_t warp_size = 32;
/// CUDA C++ Programming Guide, technical specifications per compute capability: since 2.0.
inline constexpr std::uint32_t max_threads_per_block = 1024;

/// Which resource keeps more blocks off a unit.
enum class OccupancyBound : std::uint8_t { threads, blocks, registers, shared_memory };
template <>
struct EnumNames<OccupancyBound> {
  static constexpr auto names = name_list("threads", "blocks", "registers", "shared_memory");
};

struct Occupancy {
  std::uint32_t blocks = 0;  ///< resident on one unit; 0 = the shape does not fit at all
  OccupancyBound bound = OccupancyBound::threads;
};

/// How many blocks of this shape reside on one empty unit. The rules of NVIDIA's occupancy
/// calculator (cuda_occupancy.h of the CUDA toolkit), with shared memory at its largest setting:
///
///   warps       ceil(threads / 32)
///   by threads  floor(threads_per_sm / 32 / warps)
///   by registers  a warp takes round_up(32 registers, register_unit) in one sub-partition:
///               floor(floor(registers_per_sm / sub_partitions / that) * sub_partitions / warps)
///   by shared memory  floor(shared_memory / round_up(shared + reserved, shared_memory_unit))
///
/// A block does not fit at all with more than 1024 threads, too many registers a thread, more
/// shared memory than a block can ask for, or if its warps, spread over the sub-partitions,
/// overfill one.
///
/// Shapes  shape.threads >= 1, limits.known().
[[nodiscard]] Occupancy occupancy(const BlockShape& shape, const SmLimits& limits);

/// What blocks take of a unit, or what it has: whole numbers, compared one by one.
struct UnitResources {
  std::int32_t slots = 0;  ///< of kernels without a block shape
  std::int32_t warps = 0;
  std::int32_t blocks = 0;
  std::int32_t registers = 0;
  std::int32_t shared_memory = 0;

  /// Number of times that `need` fits; `most` where nothing is needed.
  [[nodiscard]] std::uint32_t times(const UnitResources& need, std::uint32_t most) const;
  void take(const UnitResources& need, std::int32_t count);
  void give(const UnitResources& need, std::int32_t count) { take(need, -count); }

  friend bool operator==(const UnitResources&, const UnitResources&) = default;
};

/// One empty unit. Without limits it has slots only.
[[nodiscard]] UnitResources unit_resources(const SmLimits& limits);

/// One block of a known shape. As many fit on an empty unit as occupancy() says: what a block
/// wastes of the register file by the rounding to sub-partitions is charged to it.
///
/// Shapes  occupancy(shape, limits).blocks >= 1.
[[nodiscard]] UnitResources block_resources(const BlockShape& shape, const SmLimits& limits);

/// One of `per_unit` equal blocks whose shape is not known: that part of everything, rounded down.
[[nodiscard]] UnitResources part_of_unit(std::uint32_t per_unit, const SmLimits& limits);

}  // namespace schedlab
