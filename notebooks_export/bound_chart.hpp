// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/attribution.hpp"
#include "sim/trace/trace.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What each track of a bound chart is called.
struct BoundChartNames {
  std::string title;
  std::vector<std::string> hosts;    ///< empty: no host tracks
  std::vector<std::string> devices;  ///< one per device of the attribution
};

/// Host and device tracks on one time axis: how much of each slice the host makes calls, and the
/// device runs tasks. The tracks that decide at an instant (PathBound) are shaded. Beneath, the
/// shares of what devices do over time. At most eight devices and four hosts are drawn, the first
/// ones.
/// Cost O(tasks + host calls); the picture does not grow with them.
[[nodiscard]] std::string bound_chart_svg(const Attribution& attribution,
                                          const Trace& trace,
                                          const BoundChartNames& names);

}  // namespace schedlab
