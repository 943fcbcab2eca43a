// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/critical_path.hpp"
#include "sim/trace/memory_use.hpp"
#include "sim/trace/trace.hpp"

#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// One run of a viewer. What it refers to must outlive the call.
struct ViewedRun {
  const TraceDocument* document = nullptr;
  std::vector<TaskId> critical_path{};  ///< outlined
  /// As from task_releases(). Empty: what the trace alone tells, which has the order of streams,
  /// events and submissions but not the dependencies of the graph.
  std::vector<TaskRelease> releases{};
  const std::vector<DeviceMemory>* memory = nullptr;  ///< nullptr: not known
};

/// timeline.html: one page with a script that draws the runs beneath each other over one time axis,
/// to zoom, move, search and compare, and tells of each task its times, what it waited for and what
/// it released. Nothing outside the page is loaded. Names of any content are safe.
///
/// Errors   ContractViolation without a run, or if a trace names a task, stream or host without a
///          label.
/// Cost     O(tasks * log tasks); about 15 bytes a task and its name.
[[nodiscard]] std::string timeline_html(std::span<const ViewedRun> runs);

}  // namespace schedlab
