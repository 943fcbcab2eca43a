// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/execution_times.hpp"
#include "workloads/traces/replay.hpp"

namespace schedlab {

/// The replay's tasks with the dependencies of an execution trace of the same run, in the place of
/// the order of streams and events: an activity needs the activities before it of the operator that
/// launched it, and those of the operators whose buffers that one needs. An activity of no operator
/// stays between its neighbours in its stream.
///
/// `model`: of one rank, the profile that `joined` was joined with; its costs fit the result, too.
/// Errors  InputError if both together have a cycle (its tasks are named); ContractViolation for
///         several ranks.
/// Cost    O((tasks + dependencies) * operators without activities in a row).
[[nodiscard]] TaskGraph with_data_dependencies(const ReplayModel& model,
                                               const TimedExecutionTrace& joined);

}  // namespace schedlab
