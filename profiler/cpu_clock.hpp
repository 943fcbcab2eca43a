// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <chrono>

namespace schedlab {

/// The host's steady clock, read as time since the start of a run. Reading it costs 20 to 30 ns
/// (clock_gettime through the vDSO, a time-stamp counter behind it).
class CpuClock {
 public:
  CpuClock() : start_(std::chrono::steady_clock::now()) {}

  /// Makes this moment time 0.
  void restart() { start_ = std::chrono::steady_clock::now(); }
  [[nodiscard]] Time now() const {
    return Time{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start_)};
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace schedlab
