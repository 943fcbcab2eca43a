// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/exclusive.hpp"

#include <cstdint>
#include <limits>

namespace schedlab::fluid {

inline constexpr std::uint32_t nil = 0xFFFFFFFFU;
/// The memory bandwidth of a device in the unit of demands.
inline constexpr std::uint64_t whole_bandwidth = std::uint64_t{1} << 32U;

/// Full speed in the unit of rates.
inline constexpr std::uint64_t whole_rate = std::uint64_t{1} << 32U;

/// Wide enough for demands times times.
__extension__ using Wide = unsigned __int128;

/// Most quotients here are of numbers that fit, and half as dear.
[[nodiscard]] inline std::uint64_t divide(Wide a, std::uint64_t b) {
  const auto low = static_cast<std::uint64_t>(a);
  return low == a ? low / b : static_cast<std::uint64_t>(a / b);
}

/// A Wide in memory. In two halves: the processor waits for one that is written in halves, as sums
/// are, and read at a stroke.
class StoredWide {
 public:
  constexpr StoredWide() = default;
  constexpr StoredWide(Wide value)  // NOLINT(google-explicit-constructor): stands for a Wide
      : low_(static_cast<std::uint64_t>(value)), high_(static_cast<std::uint64_t>(value >> 64U)) {}
  constexpr operator Wide() const {  // NOLINT(google-explicit-constructor)
    return (Wide{high_} << 64U) | low_;
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

/// Blocks of one kernel that started together and end together.
struct Cohort {
  std::int64_t end = 0;  ///< in the kernel's own time, less its `shift`
  std::uint32_t blocks = 0;
  std::uint32_t next = nil;
};

/// Cohorts by rising end.
struct CohortList {
  std::uint32_t first = nil;
  std::uint32_t last = nil;
};

inline constexpr std::int64_t no_release = std::numeric_limits<std::int64_t>::max();

/// A kernel that waits or runs.
///
/// Its own time is the work done by a block that has run from its beginning, ps at full speed. A
/// kernel that nothing slows down has own time `now + own`. One that is short of bandwidth
/// has `own + (given - this given) / demand`, where `given` is what its device has handed to each
/// such kernel so far: one number for all of them. (Likewise of units: CoResidentShare.)
///
/// What is looked at whenever some of its blocks end stands in the first cache line; blocks_left
/// and blocks_running not side by side, since both are then asked for in one piece, right after one
/// was written, for which the processor waits.
struct alignas(64) Kernel {
  std::int64_t own = 0;
  std::int64_t block_time = 0;
  std::int64_t shift = 0;
  std::uint64_t demand = 0;        ///< of all its running blocks, as of the last sharing
  std::uint64_t block_demand = 0;  ///< of a held kernel 0 until its release
  CohortList cohorts;
  std::uint32_t blocks_left = 0;  ///< to be placed
  std::uint32_t footprint = 0;    ///< capacity of one block
  std::uint32_t blocks_running = 0;
  std::uint32_t pool = 0;

  std::uint32_t rounds = 0;  ///< full rounds of its cohorts before its next event
  std::uint32_t next_waiting = nil;
  std::uint32_t share = nil;     ///< its place in BandwidthShare, while that holds it
  std::uint32_t running_at = 0;  ///< its place among the running kernels of its device
  StoredWide given;
  std::int64_t started_at = 0;  ///< first block
  CohortList returned;          ///< ended at this instant: who takes their place keeps their phase
  bool slowed = false;          ///< its own time is not `now + own`
  bool touched = false;
  bool started = false;
  std::uint64_t held_demand = 0;         ///< of a held kernel: what block_demand will be
  std::int64_t release_at = no_release;  ///< of a held kernel: when its blocks end
  KernelRequest request;

  /// After its end: as new, but for what is set before anybody looks at it.
  void forget() {
    shift = 0;
    block_demand = 0;
    rounds = 0;
    next_waiting = nil;
    share = nil;
    started = false;
    release_at = no_release;
  }
};

}  // namespace schedlab::fluid
