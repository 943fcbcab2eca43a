// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/graph/task_graph.hpp"

#include <vector>

namespace schedlab {

/// Options that every workload has: critical_partition, iterations.
[[nodiscard]] const std::vector<OptionSpec>& common_transform_options();
/// The graph as they say. Throws what the transforms throw.
[[nodiscard]] TaskGraph with_common_transforms(TaskGraph graph, const Options& options);
/// Do they make other tasks than the workload's generator?
[[nodiscard]] bool changes_tasks(const Options& options);

}  // namespace schedlab
