// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/copy_graph.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace schedlab::detail {
namespace {

void map_unique(std::span<const TaskId> tasks,
                const IdVector<TaskId, TaskId>& new_id,
                std::vector<TaskId>& mapped) {
  mapped.clear();
  for (const TaskId task : tasks) mapped.push_back(new_id[task]);
  std::sort(mapped.begin(), mapped.end());
  mapped.erase(std::unique(mapped.begin(), mapped.end()), mapped.end());
}

/// A collective task that became part of a larger one would end with its collective: contraction
/// must leave such tasks alone, and the builder refuses anything else.
void copy_collectives(const TaskGraph& graph,
                      const IdVector<TaskId, TaskId>& new_id,
                      TaskGraphBuilder& builder) {
  if (graph.has_ranks()) {
    for (const TaskId task : graph.tasks()) builder.set_rank(new_id[task], graph.rank(task));
  }
  const CollectiveTable& collectives = graph.collectives();
  for (const CollectiveId id : collectives.ids()) {
    const CollectiveId copy = builder.add_collective(collectives.spec(id));
    for (const TaskId task : collectives.tasks(id)) builder.joins(new_id[task], copy);
  }
}

}  // namespace

void copy_edges_and_tensors(const TaskGraph& graph,
                            const IdVector<TaskId, TaskId>& new_id,
                            TaskGraphBuilder& builder,
                            const IdVector<TensorId, std::uint8_t>* left_out) {
  for (const TaskId task : graph.tasks()) {
    for (const TaskId next : graph.successors(task)) {
      if (new_id[task] != new_id[next]) builder.add_edge(new_id[task], new_id[next]);
    }
  }
  const TensorTable& tensors = graph.tensors();
  std::vector<TaskId> writers;
  std::vector<TaskId> readers;
  for (const TensorId id : tensors.ids()) {
    if (left_out != nullptr && (*left_out)[id] != 0) continue;
    const TensorId copy = builder.add_tensor({.name = tensors.name(id),
                                              .bytes = tensors.bytes(id),
                                              .accumulate = tensors.accumulate(id),
                                              .persistent = tensors.persistent(id)});
    map_unique(tensors.writers(id), new_id, writers);
    map_unique(tensors.readers(id), new_id, readers);
    for (const TaskId task : writers) builder.writes(task, copy);
    for (const TaskId task : readers) {
      if (!std::binary_search(writers.begin(), writers.end(), task)) builder.reads(task, copy);
    }
  }
  copy_collectives(graph, new_id, builder);
}

OperationId OperationSet::add(const Operation& operation) {
  const auto known = std::find(operations_.begin(), operations_.end(), operation);
  if (known != operations_.end()) {
    return OperationId{static_cast<std::uint32_t>(known - operations_.begin())};
  }
  operations_.push_back(operation);
  return builder_.add_operation(operation);
}

TaskId copy_task(const TaskGraph& graph,
                 TaskId task,
                 OperationId operation,
                 TaskGraphBuilder& builder) {
  const std::string name = name_to_keep(graph, task);
  const TaskId copy = name.empty() ? builder.add_task(operation, graph.tags(task))
                                   : builder.add_task(operation, graph.tags(task), name);
  if (graph.has_task_durations()) builder.set_duration(copy, graph.fixed_duration(task));
  return copy;
}

void expect_tensors_on_one_device(const TaskGraph& graph, std::string_view transform) {
  if (graph.has_ranks() || !graph.collectives().empty()) {
    throw InfeasibleError(fmt::format(
        "{}: the graph has ranks or collectives\n  transform the graph of one rank", transform));
  }
  if (graph.tensors().empty() && graph.task_count() > 0) {
    throw InfeasibleError(fmt::format(
        "{}: the graph has no tensors, so that it is unknown which results are used\n  keep them "
        "(include_tensors)",
        transform));
  }
}

std::string name_to_keep(const TaskGraph& graph, TaskId task) {
  const Tags& tags = graph.tags(task);
  const bool from_tags = tags.layer >= 0 || (tags.stage >= 0 && tags.microbatch >= 0);
  if (from_tags && !graph.has_explicit_names()) return {};
  return graph.name(task);
}

}  // namespace schedlab::detail
