// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstdint>

namespace schedlab::detail {

/// Lanes of the critical tasks (1), by the order in which they start on an unlimited device with
/// nominal_duration(): a task continues the lane of the task it needs last, if that is still its
/// end; else the lane that is free for the shortest time; else it opens a new one. Tasks that run
/// at the same time there are on different lanes, and there are no more lanes than at most run at
/// once, and than 32767. Other tasks have -1. Cost O(tasks (log tasks + lanes) + edges).
[[nodiscard]] IdVector<TaskId, std::int16_t> lanes(const TaskGraph& graph,
                                                   const IdVector<TaskId, std::uint8_t>& critical);

}  // namespace schedlab::detail
