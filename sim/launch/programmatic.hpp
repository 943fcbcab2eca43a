// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/launch/launch.hpp"
#include "sim/plan/plan.hpp"

namespace schedlab {

/// May the task's first kernel be launched programmatically behind another one? Never copies,
/// collectives and host work.
[[nodiscard]] bool launches_programmatically(const Operation& operation,
                                             ProgrammaticLaunches kernels);

/// Launches programmatically what can be: a task whose launch is right behind another one in its
/// stream, with no record, wait or graph between, where that one's last kernel and its own first
/// are of `kernels`; of a device graph, a node whose only need is such a task of the same stream.
/// Streams that several hosts use, legacy default and blocking streams are left as they are, as are
/// tasks that `graph` does not have.
void launch_programmatically(Plan& plan, const TaskGraph& graph, ProgrammaticLaunches kernels);

/// Gives the streams of the plan's most urgent priority a partition of `units`, and the others the
/// rest. Throws InfeasibleError if all streams have one priority.
void set_urgent_units(Plan& plan, std::uint32_t units);

}  // namespace schedlab
