// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

namespace schedlab {

/// A profiled run of a plan, as the simulator and the executors write theirs.
struct ProfiledTrace {
  Trace trace;           ///< tasks and host calls; flows and messages are not recorded
  Diagnostics problems;  ///< calls of the plan that no call of the run-time could be found for
};

/// What the tasks of `plan` did according to `log`, from the start of a task's first to the end of
/// its last kernel, copy or memset, with the calls that pushed it as WorkId::task, or its graph's
/// launch as WorkId::graph_launch and the node as WorkId::graph_node. A task was submitted when the
/// last call that was made for it returned.
///
/// Host spans are the calls of the run-time in the order of the plan's calls, one host thread of
/// the plan for one of the process; a launch of several kernels is one span. The process's other
/// calls are left out. Sleeps and messages leave no record. Calls other than launches are told
/// apart by their kind and order alone: what prepares a run (streams, graphs) belongs before the
/// log begins.
///
/// `origin`: time 0 of the trace, on the clock that the log is mapped to.
///
/// Errors  DeviceError naming a task without a record (was the log recorded with
///         GraphDetail::launch?), and where records were dropped.
[[nodiscard]] ProfiledTrace activity_trace(const ActivityLog& log,
                                           const TaskGraph& graph,
                                           const Plan& plan,
                                           Time origin);

}  // namespace schedlab
