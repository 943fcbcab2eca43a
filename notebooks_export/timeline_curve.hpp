// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/svg.hpp"
#include "notebooks_export/timeline_rows.hpp"
#include "sim/trace/memory_use.hpp"
#include "sim/trace/trace.hpp"

#include <optional>

namespace schedlab {

/// The axis beneath the rows at `bottom`: its unit, and a vertical line from `top` at each number.
void draw_time_axis(Svg& svg, const TimeScale& scale, double top, double bottom);

/// Utilization over time as an area from 0 to 100 %, one step per pixel, with its mean: `mean`, or
/// that of the curve.
void draw_utilization(Svg& svg,
                      const TimeScale& scale,
                      double top,
                      double height,
                      const TraceDocument& document,
                      std::optional<double> mean);

/// Bytes held over time as an area from 0 to the peak, each pixel with the most that is held in it.
void draw_memory(Svg& svg,
                 const TimeScale& scale,
                 double top,
                 double height,
                 const DeviceMemory& memory,
                 Time end);

}  // namespace schedlab
