// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <string_view>

namespace schedlab {

/// Joins point-wise tasks whose result goes to one other point-wise task and nowhere else, chains
/// of any length, into one kernel that never writes what lies between.
///
/// Joined are tasks of one point-wise kernel of the same data type and number of results, where
/// the first has one successor only and the tensor between is not persistent and no task adds into
/// it. Updates and transfers are left alone. The new operation is called "FIRST+SECOND", with tags,
/// class and name of the last of them.
///
/// Keeps FLOPs and every dependency between other tasks. Each joint saves the bytes of its tensor
/// twice, written and read, and the tensor itself.
/// Errors   InfeasibleError if the graph has no tensors, ranks or collectives.
/// Cost     O(tasks * operations + edges + uses of tensors).
class FusePointwise final : public Transform {
 public:
  [[nodiscard]] std::string_view name() const override { return "fuse_pointwise"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;
};

}  // namespace schedlab
