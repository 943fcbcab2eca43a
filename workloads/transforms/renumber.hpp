// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <string_view>

namespace schedlab {

/// Numbers the tasks in breadth-first topological order, so that neighbours in the graph are
/// neighbours in memory. Keeps everything: FLOPs, bytes, durations, names, tensors, edges. Cost
/// O(tasks + edges).
class TopologicalRenumber final : public Transform {
 public:
  [[nodiscard]] std::string_view name() const override { return "topological_renumber"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;
};

}  // namespace schedlab
