// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <vector>

namespace schedlab::detail {

/// Tensors that one collective joins, once all their writers are done and before anybody else reads
/// them.
struct JoinedTensors {
  std::vector<TensorId> tensors;
  CollectiveSpec spec;
};

/// The graph on each rank, and collectives between them: task t of rank r becomes r * (tasks +
/// collectives) + t, and behind the tasks of a rank come its parts of the collectives, named after
/// what they do ("all_reduce_0"). A part waits for all writers of its tensors, their readers for
/// the part.
[[nodiscard]] TaskGraph join_over_ranks(const TaskGraph& graph,
                                        std::uint32_t ranks,
                                        const std::vector<JoinedTensors>& joined);

}  // namespace schedlab::detail
