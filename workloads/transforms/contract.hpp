// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/graph/transform.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// Makes one task of each group of tasks: its operation launches the kernels of the members, in id
/// order.
///
/// Keeps FLOPs, bytes of kernels, fixed durations (summed), all tensors and every dependency
/// between groups. The new task has the tags its members agree on, the most urgent class among
/// them, and kind composite unless all kernels are of one kind. Groups are numbered by their first
/// member; a group of one task keeps its operation and name. Cost O(tasks + edges + operations of
/// the result).
class Contract final : public Transform {
 public:
  /// `group_of`: per task; equal numbers become one task. `operation`: name of the merged
  /// operations.
  Contract(IdVector<TaskId, std::uint32_t> group_of, std::string operation);

  /// Groups by (layer, step): whole nodes of a graph of one pass. Tasks without both tags stay
  /// alone.
  [[nodiscard]] static Contract by_node(const TaskGraph& graph, std::string operation = "node");

  [[nodiscard]] std::string_view name() const override { return "contract"; }
  /// Throws InfeasibleError if two groups would have to wait for each other; names the tasks of the
  /// cycle. ContractViolation if `group_of` is for a graph of another size.
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  IdVector<TaskId, std::uint32_t> group_of_;
  std::string operation_;
};

}  // namespace schedlab
