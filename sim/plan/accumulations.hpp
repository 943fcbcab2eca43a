// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// Which tasks add into a tensor that others add into as well. The graph need not order them, but
/// two of them at once are a race, so who makes a plan has to.
class Accumulations {
 public:
  /// Cost O(tasks + writers of tensors).
  explicit Accumulations(const TaskGraph& graph);

  /// The shared accumulate tensors that `task` adds into; mostly none.
  [[nodiscard]] std::span<const TensorId> of(TaskId task) const {
    if (offset_.empty()) return {};
    return {tensors_.data() + offset_[task.value()], tensors_.data() + offset_[task.value() + 1]};
  }
  /// No tensor of the graph has several writers.
  [[nodiscard]] bool empty() const { return offset_.empty(); }

 private:
  std::vector<std::uint32_t> offset_;
  std::vector<TensorId> tensors_;
};

}  // namespace schedlab
