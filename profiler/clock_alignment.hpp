// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace schedlab {

/// The clock of a profiler's records, nanoseconds from an origin of its own (often 1970, which
/// would not fit in the picoseconds of a run).
struct ActivityClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ActivityClock, duration>;
  static constexpr bool is_steady = false;
};
using ActivityTime = ActivityClock::time_point;

/// One reading of the profiler's clock between two of the host's.
struct ClockSample {
  Time before{};
  ActivityTime reading{};
  Time after{};

  friend bool operator==(const ClockSample&, const ClockSample&) = default;
};

/// host = host_origin + (1 + drift) * (activity - activity_origin)
struct ClockMapping {
  ActivityTime activity_origin{};
  Time host_origin{};
  double drift = 0;  ///< seconds that the host's clock gains in a second of the other
  /// No time between the first and the last sample is mapped further from the truth than this, as
  /// long as both clocks are steady.
  Duration error{0};

  [[nodiscard]] Time to_host(ActivityTime time) const;
  friend bool operator==(const ClockMapping&, const ClockMapping&) = default;
};

/// The narrowest of `tries` samples.
[[nodiscard]] ClockSample sample_clocks(const std::function<Time()>& host,
                                        const std::function<ActivityTime()>& activity,
                                        std::size_t tries = 16);

/// Least squares through the middles of the samples, weighted by the inverse squares of their
/// widths. From one sample, or from samples less than a millisecond apart, the offset alone: their
/// widths would be taken for drift.
///
/// `same_rate`: both are one clock, read at two places: likewise the offset alone.
/// Errors  ContractViolation without samples, or if one ends before it begins.
[[nodiscard]] ClockMapping align_clocks(std::span<const ClockSample> samples,
                                        bool same_rate = false);

}  // namespace schedlab
