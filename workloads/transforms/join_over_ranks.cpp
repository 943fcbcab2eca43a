// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/join_over_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab::detail {
namespace {

/// The tensors of one rank, whose tasks begin at `first`. Only those of rank 0 have names.
[[nodiscard]] IdVector<TensorId, TensorId> copy_tensors(const TensorTable& tensors,
                                                        std::uint32_t first,
                                                        std::uint32_t rank,
                                                        TaskGraphBuilder& builder) {
  IdVector<TensorId, TensorId> copies(tensors.size());
  const auto copy_of = [&](TaskId task) { return TaskId{first + task.value()}; };
  for (const TensorId id : tensors.ids()) {
    const TensorId copy = builder.add_tensor({.name = rank == 0 ? tensors.name(id) : std::string{},
                                              .bytes = tensors.bytes(id),
                                              .accumulate = tensors.accumulate(id),
                                              .persistent = tensors.persistent(id)});
    for (const TaskId task : tensors.writers(id)) builder.writes(copy_of(task), copy);
    for (const TaskId task : tensors.readers(id)) builder.reads(copy_of(task), copy);
    copies[id] = copy;
  }
  return copies;
}

/// One rank: the graph's tasks, edges and tensors, then its parts of the collectives.
void add_rank(const TaskGraph& graph,
              const std::vector<JoinedTensors>& joined,
              std::uint32_t rank,
              OperationId first_part,
              const std::vector<CollectiveId>& collectives,
              TaskGraphBuilder& builder) {
  const auto first = static_cast<std::uint32_t>(builder.task_count());
  const bool named = graph.has_explicit_names();
  for (const TaskId task : graph.tasks()) {
    const OperationId operation = graph.operation_id(task);
    const TaskId copy = named ? builder.add_task(operation, graph.tags(task), graph.name(task))
                              : builder.add_task(operation, graph.tags(task));
    if (graph.has_task_durations()) builder.set_duration(copy, graph.fixed_duration(task));
    builder.set_rank(copy, rank);
  }
  const auto copy_of = [&](TaskId task) { return TaskId{first + task.value()}; };
  for (const TaskId task : graph.tasks()) {
    for (const TaskId after : graph.successors(task)) {
      builder.add_edge(copy_of(task), copy_of(after));
    }
  }
  const TensorTable& tensors = graph.tensors();
  const IdVector<TensorId, TensorId> tensor_copy = copy_tensors(tensors, first, rank, builder);
  for (std::uint32_t c = 0; c < joined.size(); ++c) {
    const std::string_view what = to_string(joined[c].spec.op);
    const TaskId part = builder.add_task(
        OperationId{first_part.value() + c},
        {},
        rank == 0 ? fmt::format("{}_{}", what, c) : fmt::format("{}_{}@{}", what, c, rank));
    builder.set_rank(part, rank);
    builder.joins(part, collectives[c]);
    for (const TensorId tensor : joined[c].tensors) {
      builder.reads(part, tensor_copy[tensor]);
      const auto writers = tensors.writers(tensor);
      for (const TaskId reader : tensors.readers(tensor)) {
        const bool writes = std::find(writers.begin(), writers.end(), reader) != writers.end();
        if (!writes) builder.add_edge(part, copy_of(reader));
      }
    }
  }
}

}  // namespace

TaskGraph join_over_ranks(const TaskGraph& graph,
                          std::uint32_t ranks,
                          const std::vector<JoinedTensors>& joined) {
  TaskGraphBuilder builder;
  builder.reserve(ranks * (graph.task_count() + joined.size()), ranks * graph.edge_count());
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  const OperationId first_part{static_cast<std::uint32_t>(graph.operations().size())};
  std::vector<CollectiveId> collectives;
  for (const JoinedTensors& each : joined) {
    builder.add_operation(
        {.name = std::string{to_string(each.spec.op)}, .kind = TaskKind::collective});
    collectives.push_back(builder.add_collective(each.spec));
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    add_rank(graph, joined, rank, first_part, collectives, builder);
  }
  return std::move(builder).build();
}

}  // namespace schedlab::detail
