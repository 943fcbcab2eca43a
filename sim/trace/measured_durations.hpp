// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/trace/trace.hpp"

namespace schedlab {

/// From start to end of each task of `graph` in `trace`; 0 of tasks that are not in it. As costs of
/// the tasks they let metrics refer to what was measured.
[[nodiscard]] IdVector<TaskId, Duration> measured_durations(const TaskGraph& graph,
                                                            const Trace& trace);

}  // namespace schedlab
