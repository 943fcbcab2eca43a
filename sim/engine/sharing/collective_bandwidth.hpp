// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/fluid_kernel.hpp"

#include <algorithm>
#include <cstdint>

namespace schedlab::fluid {

/// What the collectives that move data on a device get of its memory bandwidth W, where collectives
/// contend. With K wanted by kernels, D by collectives, and G, their units' part of W:
///
///   C = min(D, max(G, W - K))       all of them advance at the rate C / D; kernels share W - C
///
/// Memory serves the units of a device alike, so that who has few of them cannot crowd out the
/// others, nor be crowded out. // assumed: measured is neither
class CollectiveBandwidth {
 public:
  void reset() { *this = {}; }
  void engage(std::uint64_t wanted, std::uint64_t guaranteed) {
    wanted_ += wanted;
    guaranteed_ += guaranteed;
    find_left();
  }
  void disengage(std::uint64_t wanted, std::uint64_t guaranteed) {
    wanted_ -= wanted;
    guaranteed_ -= guaranteed;
    find_left();
  }
  /// Kernels may want so much before any lacks bandwidth; negative: collectives do.
  [[nodiscard]] std::int64_t left() const { return left_; }
  /// Kernels want `kernels`; what is left to them.
  std::uint64_t share(std::uint64_t kernels) {
    const std::uint64_t unwanted = kernels < whole_bandwidth ? whole_bandwidth - kernels : 0;
    given_ = std::min(wanted_, std::max(std::min(guaranteed_, most_guaranteed), unwanted));
    return whole_bandwidth - given_;
  }
  /// As of the last share().
  [[nodiscard]] bool lacking() const { return given_ < wanted_; }
  /// Of whole_rate.
  [[nodiscard]] std::uint64_t rate() const {
    if (!lacking()) return whole_rate;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>((Wide{given_} << 32U) / wanted_));
  }

 private:
  /// Something is left to kernels (copies) beside collectives that hold all units.
  static constexpr std::uint64_t most_guaranteed = whole_bandwidth / 256 * 255;

  void find_left() {
    left_ = static_cast<std::int64_t>(whole_bandwidth) - static_cast<std::int64_t>(wanted_);
  }

  std::uint64_t wanted_ = 0;
  std::uint64_t guaranteed_ = 0;
  std::uint64_t given_ = 0;
  std::int64_t left_ = whole_bandwidth;
};

}  // namespace schedlab::fluid
