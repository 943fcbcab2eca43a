// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// One step of a curve: the values hold from `at` to the next point's time.
struct UtilizationPoint {
  Time at{};
  double utilization = 0;      ///< as Summary::utilization, at this moment
  std::uint32_t running = 0;   ///< tasks on devices
  std::uint32_t critical = 0;  ///< those of them that are critical

  friend bool operator==(const UtilizationPoint&, const UtilizationPoint&) = default;
};

/// The exact curve of a trace: one point per moment at which something changes, starting at 0, the
/// last at the end of the trace. Host work does not count. Where kernels take units from one
/// another only the mean share of each task is known: what their sum exceeds the device by is put
/// where the same tasks ran and units were free (spread_cut_work), so that no work is lost.
///
/// Cost   O(tasks * log tasks); with shared units O(tasks * tasks that run at once).
[[nodiscard]] std::vector<UtilizationPoint> utilization_over_time(const TraceDocument& document);

/// Mean values in one of many equal slices of the run.
struct UtilizationSlice {
  double utilization = 0;
  double running = 0;
  double critical = 0;
};

/// The means over `count` equal slices of [0, end of the trace]. Empty for a trace of length 0.
/// Cost   O(points + count).
[[nodiscard]] std::vector<UtilizationSlice> utilization_in_slices(
    const std::vector<UtilizationPoint>& points, std::size_t count);

}  // namespace schedlab
