// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <optional>

namespace schedlab {

/// What a workload may do to its graph before anything else is made of it.
struct GraphTransforms {
  bool remove_dead = false;                 ///< transforms/remove_dead.hpp
  bool fuse_pointwise = false;              ///< transforms/fuse_pointwise.hpp
  std::optional<DataType> mixed_precision;  ///< transforms/mixed_precision.hpp, from `wide`
  DataType wide = DataType::fp32;
};

/// In this order. Throws what they throw.
[[nodiscard]] TaskGraph transformed(TaskGraph graph, const GraphTransforms& transforms);

}  // namespace schedlab
