// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ceil_div.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/occupancy.hpp"

#include <algorithm>
#include <cstdint>

namespace schedlab {

/// What a unit gets done at full rate; blocks want whole parts of it.
inline constexpr std::uint32_t unit_throughput = 1U << 20U;

/// How the thread blocks of an operation fill the units of their class, where units are shared
/// block by block.
struct Residency {
  std::uint32_t residents = 1;   ///< blocks that an empty unit holds
  std::uint32_t throughput = 0;  ///< that a block wants at full rate, of unit_throughput

  /// Throughput that a unit full of them wants.
  [[nodiscard]] std::int64_t most() const { return std::int64_t{residents} * throughput; }
  /// May more of them reside than a unit runs at full rate?
  [[nodiscard]] bool oversubscribes() const { return most() > unit_throughput; }
};

/// Where the shape of the blocks is known, as many reside as the limits of a unit allow
/// (occupancy.hpp), whatever the number of blocks that run at full rate; else just these.
///
/// Shapes  a known shape fits at least once, which the cost table has checked.
[[nodiscard]] Residency residency(const Estimate& estimate, const SmLimits& limits);

/// Throughput that the blocks on the fullest of `units` want, in unit_throughput, when `blocks`
/// that want `wanted` together are spread evenly, so that it has as many as any unit, of average
/// want, and no unit can want more than `most`.
///
/// Shapes  blocks >= 1, units >= 1.
[[nodiscard]] inline std::int64_t on_fullest_unit(std::int64_t blocks,
                                                  std::int64_t wanted,
                                                  std::int64_t units,
                                                  std::int64_t most) {
  return std::min(ceil_div(ceil_div(blocks, units) * wanted, blocks), most);
}

/// What a kernel alone takes, in 1 / unit_throughput of the time of a block at full rate: wave
/// after wave of as many blocks as reside, each as much slower as the fullest unit is asked for
/// more than it gets done.
struct WavesAlone {
  std::uint32_t wave = 1;  ///< blocks that run at once
  std::int64_t first = 0;  ///< time of the first wave
  std::int64_t whole = 0;  ///< of all waves
};

/// Shapes  blocks >= 1, units >= 1.
[[nodiscard]] WavesAlone waves_alone(const Residency& residency,
                                     std::uint32_t blocks,
                                     std::uint32_t units);

}  // namespace schedlab
