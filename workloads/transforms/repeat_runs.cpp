// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/repeat_runs.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// Adds the tasks of one run behind those that are there; "cell(3,9)" of run 2 is "cell(3,9)#2".
IdVector<TaskId, TaskId> add_run_tasks(const TaskGraph& graph,
                                       std::uint32_t run,
                                       TaskGraphBuilder& builder) {
  IdVector<TaskId, TaskId> copies(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    std::string name = detail::name_to_keep(graph, task);
    if (run != 0) name = fmt::format("{}#{}", graph.name(task), run);
    const OperationId operation = graph.operation_id(task);
    copies[task] = name.empty() ? builder.add_task(operation, graph.tags(task))
                                : builder.add_task(operation, graph.tags(task), name);
    if (graph.has_task_durations()) builder.set_duration(copies[task], graph.fixed_duration(task));
    if (graph.has_ranks()) builder.set_rank(copies[task], graph.rank(task));
  }
  return copies;
}

/// What copy_edges_and_tensors does, less the tensors.
void add_run_edges(const TaskGraph& graph,
                   const IdVector<TaskId, TaskId>& copies,
                   TaskGraphBuilder& builder) {
  for (const TaskId task : graph.tasks()) {
    for (const TaskId next : graph.successors(task)) {
      builder.add_edge(copies[task], copies[next]);
    }
  }
  const CollectiveTable& collectives = graph.collectives();
  for (const CollectiveId id : collectives.ids()) {
    const CollectiveId copy = builder.add_collective(collectives.spec(id));
    for (const TaskId task : collectives.tasks(id)) builder.joins(copies[task], copy);
  }
}

}  // namespace

TaskGraph RepeatRuns::apply(const TaskGraph& graph) const {
  SCHEDLAB_EXPECTS(runs_ > 0, "a graph is repeated at least once");
  if (std::uint64_t{runs_} * graph.task_count() >= std::numeric_limits<std::uint32_t>::max()) {
    throw InfeasibleError(fmt::format(
        "{} runs of {} tasks are more tasks than can be numbered", runs_, graph.task_count()));
  }
  // By rank: a run on one device knows nothing of the others' ends but what collectives tell it.
  std::vector<std::vector<TaskId>> first(graph.rank_count());
  std::vector<std::vector<TaskId>> last(graph.rank_count());
  for (const TaskId task : graph.tasks()) {
    if (graph.predecessors(task).empty()) first[graph.rank(task)].push_back(task);
    if (graph.successors(task).empty()) last[graph.rank(task)].push_back(task);
  }
  TaskGraphBuilder builder;
  builder.reserve(runs_ * graph.task_count(), runs_ * graph.edge_count());
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  IdVector<TaskId, TaskId> before;
  for (std::uint32_t run = 0; run < runs_; ++run) {
    const IdVector<TaskId, TaskId> copies = add_run_tasks(graph, run, builder);
    if (run == 0) {
      detail::copy_edges_and_tensors(graph, copies, builder);
    } else {
      add_run_edges(graph, copies, builder);
      for (std::size_t rank = 0; rank < first.size(); ++rank) {
        for (const TaskId from : last[rank]) {
          for (const TaskId to : first[rank]) builder.add_edge(before[from], copies[to]);
        }
      }
    }
    before = copies;
  }
  return std::move(builder).build();
}

}  // namespace schedlab
