// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/problem_bounds.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

/// What other ranks read, by the steps that write it last and read it first.
void add_results(TaskGraphBuilder& builder,
                 const TaskGraph& tasks,
                 const IdVector<TaskId, TaskId>& first,
                 const IdVector<TaskId, TaskId>& last) {
  const TensorTable& tensors = tasks.tensors();
  for (const TensorId tensor : tensors.ids()) {
    const auto writers = tensors.writers(tensor);
    const auto is_sent_to = [&](TaskId reader) {
      return std::ranges::any_of(
          writers, [&](TaskId writer) { return tasks.rank(writer) != tasks.rank(reader); });
    };
    if (std::ranges::none_of(tensors.readers(tensor), is_sent_to)) continue;
    const TensorId sent =
        builder.add_tensor({.bytes = tensors.bytes(tensor), .accumulate = writers.size() > 1});
    for (const TaskId writer : writers) builder.writes(last[writer], sent);
    for (const TaskId reader : tensors.readers(tensor)) {
      if (is_sent_to(reader)) builder.reads(first[reader], sent);
    }
  }
}

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
    if (!tasks.has_ranks()) continue;
    for (TaskId step = first[task]; step <= last[task]; ++step) {
      builder.set_rank(step, tasks.rank(task));
    }
  }
  if (tasks.has_ranks()) add_results(builder, tasks, first, last);
  return std::move(builder).build();
}

}  // namespace

BoundedProblem::BoundedProblem(const TaskGraph& graph,
                               const SimulatedProblem& simulated,
                               const LaunchChoice& launch)
    : simulated_(simulated),
      plans_{.device_graphs = captures(launch.mode),
             .programmatic = launch.programmatic != ProgrammaticLaunches::none} {
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
