// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <string_view>

namespace schedlab {

/// Leaves out tasks whose results are unused, directly or through others.
///
/// Used are results in persistent tensors, what is copied to the host, and whatever tasks without
/// written tensors do, hosts' work among it. Of the predecessors of a used task those are used that
/// write something it reads (or adds into), or that write no tensor.
///
/// Keeps all other tasks with their operations, names and numbers' order, the tensors they touch,
/// and every order among them: where a removed task stood between two, an edge joins them.
/// Errors   InfeasibleError if the graph has no tensors, ranks or collectives.
/// Cost     O(tasks + edges + uses of tensors), and the bridging edges.
class RemoveDead final : public Transform {
 public:
  [[nodiscard]] std::string_view name() const override { return "remove_dead"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;
};

}  // namespace schedlab
