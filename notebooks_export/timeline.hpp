// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/memory_use.hpp"
#include "sim/trace/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// A part of a run; from < to.
struct TimelineWindow {
  Duration from{0};
  Duration to{0};
};

struct TimelineOptions {
  double width = 1200;  ///< of the picture, in pixels
  /// Outlined, and named "critical path" in the legend: the tasks of Metrics::critical_path.
  std::vector<TaskId> critical_path{};
  /// The mean that the utilization curve is labelled with: Metrics::utilization. Without it the
  /// mean of the curve, which is lower where units are shared block by block: the curve spreads the
  /// work of a task evenly over its time and ends at 100 %.
  std::optional<double> mean_utilization{};
  /// The bytes held over time are drawn beneath, of the device with the highest peak; nullptr or
  /// empty: not. Must outlive the call.
  const std::vector<DeviceMemory>* memory = nullptr;
  std::size_t max_streams = 128;  ///< beyond it those with most work are drawn; of several devices
                                  ///< the first ones, whole
  /// Where the time axis ends at least, so that runs of different lengths can be compared.
  Duration axis_end{0};
  /// Where it begins at least, in pixels; further to the right where labels need more.
  double axis_left = 0;
  /// Only what happens in this part of the run is drawn, on all the width; nullopt: the whole run.
  std::optional<TimelineWindow> window{};
  /// Operations that other pictures beside this one have: each has one colour in all.
  std::vector<std::string> other_operations{};
};

struct TimelinePicture {
  std::string svg;
  double height = 0;  ///< in pixels
  double axis_left = 0;
};

/// A Gantt chart: host threads on top, a row per stream coloured by operation, utilization beneath,
/// one time axis for all; arrows for resolved waits, up to 60 of them. Tasks narrower than a pixel
/// are merged: the coloured height of a row is then the share of the time in which each operation
/// ran. Names of any content are safe.
///
/// Errors   ContractViolation if the trace names a task, stream or host without a label.
/// Cost     O(tasks * log tasks); the file has at most about 1.5 MB, whatever the number of tasks.
[[nodiscard]] TimelinePicture timeline_picture(const TraceDocument& document,
                                               const TimelineOptions& options = {});
[[nodiscard]] std::string timeline_svg(const TraceDocument& document,
                                       const TimelineOptions& options = {});

}  // namespace schedlab
