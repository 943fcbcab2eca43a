// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

/// The same graph several times, one run after another: task t becomes t of run 0, tasks + t of run
/// 1 and so on. The first tasks of a run need the last ones of the run before. Operations are
/// shared, so that costs are estimated once.
///
/// Keeps FLOPs and bytes of each run. Tensors are those of the first run: what the later ones hold,
/// they hold in its place. Cost O(runs * (tasks + edges + first tasks * last tasks)).
class RepeatRuns final : public Transform {
 public:
  explicit RepeatRuns(std::uint32_t runs) : runs_(runs) {}

  [[nodiscard]] std::string_view name() const override { return "repeat_runs"; }
  /// Throws InfeasibleError if the tasks of all runs are more than can be numbered.
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  std::uint32_t runs_;
};

}  // namespace schedlab
