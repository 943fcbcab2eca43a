// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>

namespace schedlab {

/// Makes the plan of one device the plan of every rank: the same host program on each, with streams
/// and events of its own, plus one communication stream per rank for the collectives.
///
/// `graph` is what a data-parallel transform made of the graph that `single` schedules: rank after
/// rank, the tasks of a rank in the order of `single`'s graph, then the rank's parts of the
/// collectives, alike on all ranks. A collective is launched right after the last task that it
/// waits for, on the communication stream behind one event per stream that holds such tasks; a task
/// that depends on it is launched behind an event of its own, later than in `single` where the
/// collective comes later (a bucket may wait for gradients that `single` works out after the task).
/// So the order of collectives is that
/// of `single` and the same on all ranks.
///
/// overlap = false: no collective starts before all tasks that any of them waits for have
/// completed.
///
/// Throws ContractViolation if the graph is not as above.
[[nodiscard]] Plan data_parallel_plan(const Plan& single, const TaskGraph& graph, bool overlap);

}  // namespace schedlab
