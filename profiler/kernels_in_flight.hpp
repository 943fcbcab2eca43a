// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "sim/base/units.hpp"

#include <cstddef>

namespace schedlab {

/// How many kernels ran at once in a part of a log: what tells how a library overlaps its layers.
struct KernelsInFlight {
  std::size_t kernels = 0;
  std::size_t streams = 0;  ///< that any of them ran in
  Duration busy{0};         ///< time with at least one
  double mean = 0;          ///< over that time
  std::size_t max = 0;

  friend bool operator==(const KernelsInFlight&, const KernelsInFlight&) = default;
};

/// Counts kernels that start in [from, to) on the host's clock. A kernel that starts when another
/// ends does not run beside it.
[[nodiscard]] KernelsInFlight kernels_in_flight(const ActivityLog& log, Time from, Time to);

}  // namespace schedlab
