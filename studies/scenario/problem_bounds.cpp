// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/problem_bounds.hpp"

#include <utility>

namespace schedlab {
namespace {

/// The steps of all tasks with the dependencies of their tasks.
TaskGraph with_dependencies(const TaskGraph& tasks, const KernelSteps& steps) {
  const TaskGraph& loose = steps.graph();
  TaskGraphBuilder builder;
  for (const Operation& operation : loose.operations()) builder.add_operation(operation);
  for (const TaskId step : loose.tasks()) builder.add_task(loose.operation_id(step));
  IdVector<TaskId, TaskId> first(tasks.task_count());
  IdVector<TaskId, TaskId> last(tasks.task_count());
  std::uint32_t next = 0;
  for (const TaskId task : tasks.tasks()) {
    first[task] = TaskId{next};
    next += steps.step_count(task);
    last[task] = TaskId{next - 1};
  }
  for (const TaskId task : tasks.tasks()) {
    for (const TaskId before : tasks.predecessors(task)) {
      builder.add_edge(last[before], first[task]);
    }
    for (TaskId step = first[task]; step < last[task]; ++step) {
      TaskId after = step;
      builder.add_edge(step, ++after);
    }
  }
  return std::move(builder).build();
}

}  // namespace

BoundedProblem::BoundedProblem(const TaskGraph& graph,
                               const SimulatedProblem& simulated,
                               LaunchMode mode)
    : simulated_(simulated), plans_{.device_graphs = captures(mode)} {
  if (simulated.steps == nullptr) return;
  kernels_ = with_dependencies(graph, *simulated.steps);
  // Beside collectives alone a task of several kernels holds the units of its widest one.
  units_ = graph.collectives().empty();
  for (const TaskId task : graph.tasks()) {
    for (std::uint32_t i = 0; i < simulated.steps->step_count(task); ++i) task_of_.push_back(task);
  }
}

BoundProblem BoundedProblem::on(const Platform& platform, const CostTable& costs) const {
  return {.problem = {kernels_ ? *kernels_ : simulated_.problem.graph, platform, costs},
          .plans = plans_,
          .task_of = kernels_ ? &task_of_ : nullptr,
          .units = units_};
}

void add_ladder(LowerBounds& bounds, const BoundProblem& on, std::uint32_t runs) {
  set_ladder(bounds, on, bound_ladder(on));
  for (Duration LowerBounds::*bound : {&LowerBounds::latency_path,
                                       &LowerBounds::host_launch,
                                       &LowerBounds::subset,
                                       &LowerBounds::memory,
                                       &LowerBounds::network,
                                       &LowerBounds::energetic}) {
    bounds.*bound *= runs;
  }
}

}  // namespace schedlab
