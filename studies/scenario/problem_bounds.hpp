// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/kernel_steps.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/launch/launch.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "studies/scenario/prepared_problem.hpp"

#include <optional>

namespace schedlab {

/// A problem as the ladder of bounds takes it: kernel by kernel, with all dependencies, where tasks
/// run so. What it is made of must outlive it.
class BoundedProblem {
 public:
  /// `simulated`: of the tasks in `graph`.
  BoundedProblem(const TaskGraph& graph,
                 const SimulatedProblem& simulated,
                 const LaunchChoice& launch);
  BoundedProblem(const PreparedProblem& prepared, const LaunchChoice& launch)
      : BoundedProblem(*prepared.graph, prepared.simulated(), launch) {}

  [[nodiscard]] BoundProblem problem() const {
    return on(simulated_.problem.platform, simulated_.problem.costs);
  }
  /// The same tasks with other costs; both must outlive the result.
  [[nodiscard]] BoundProblem on(const Platform& platform, const CostTable& costs) const;

 private:
  SimulatedProblem simulated_;
  PlanClass plans_;
  bool units_ = true;
  std::optional<TaskGraph> kernels_;
  IdVector<TaskId, TaskId> task_of_;
};

/// Adds the ladder to bounds of the same problem. `runs` one after another, of each of which the
/// host waits for the end, take so many times as long.
void add_ladder(LowerBounds& bounds, const BoundProblem& on, std::uint32_t runs = 1);

}  // namespace schedlab
