// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string_view>

namespace schedlab {

/// TaskGraph -> TaskGraph: batch split, fusion, recomputation, renumbering. A transform keeps what
/// the graph computes; what else it keeps (FLOPs, bytes, task count) its documentation says, and a
/// test of it checks.
class Transform {
 public:
  Transform() = default;
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;
  virtual ~Transform() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Throws InfeasibleError if this graph cannot be transformed, with the task that prevents it.
  [[nodiscard]] virtual TaskGraph apply(const TaskGraph& graph) const = 0;
};

}  // namespace schedlab
