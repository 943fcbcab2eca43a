// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/data_parallel.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

struct Bucket {
  std::vector<TensorId> gradients;
  Bytes bytes{};
};

/// In graphs whose nodes are not cut, no task makes gradients only.
bool is_sum_of_nodes(const TaskGraph& graph, TensorId tensor) {
  const TensorTable& tensors = graph.tensors();
  return tensors.accumulate(tensor) && tensors.persistent(tensor) &&
         !tensors.writers(tensor).empty();
}

bool is_sum_of_gradients(const TaskGraph& graph, TensorId tensor) {
  const auto makes_gradients = [&](TaskId task) {
    return graph.operation(task).task_class == TaskClass::weight_gradient;
  };
  const auto writers = graph.tensors().writers(tensor);
  const auto readers = graph.tensors().readers(tensor);
  // What such a task reads again is part of a gradient, not yet the sum.
  const bool partial = std::any_of(readers.begin(), readers.end(), [&](TaskId task) {
    const bool writes = std::find(writers.begin(), writers.end(), task) != writers.end();
    return makes_gradients(task) && !writes;
  });
  return !writers.empty() && !partial &&
         std::all_of(writers.begin(), writers.end(), makes_gradients);
}

std::vector<Bucket> fill_buckets(const TaskGraph& graph, Bytes size) {
  IdVector<TaskId, std::uint32_t> position(graph.task_count());
  std::uint32_t next = 0;
  for (const TaskId task : graph.topological_order()) position[task] = next++;
  const bool nodes_are_cut =
      std::any_of(graph.operations().begin(), graph.operations().end(), [](const Operation& o) {
        return o.task_class == TaskClass::weight_gradient;
      });
  const auto is_gradient = nodes_are_cut ? is_sum_of_gradients : is_sum_of_nodes;
  std::vector<std::pair<std::uint32_t, TensorId>> ready;  // last writer, gradient
  for (const TensorId tensor : graph.tensors().ids()) {
    if (!is_gradient(graph, tensor)) continue;
    std::uint32_t last = 0;
    for (const TaskId task : graph.tensors().writers(tensor)) {
      last = std::max(last, position[task]);
    }
    ready.emplace_back(last, tensor);
  }
  std::sort(ready.begin(), ready.end());
  std::vector<Bucket> buckets;
  for (const auto& [last, tensor] : ready) {
    if (buckets.empty() || buckets.back().bytes >= size) buckets.emplace_back();
    buckets.back().gradients.push_back(tensor);
    buckets.back().bytes += graph.tensors().bytes(tensor);
  }
  return buckets;
}

/// One rank: the graph's tasks, edges and tensors, then its parts of the buckets.
void add_rank(const TaskGraph& graph,
              const std::vector<Bucket>& buckets,
              std::uint32_t rank,
              OperationId first_all_reduce,
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
  IdVector<TensorId, TensorId> tensor_copy(tensors.size());
  for (const TensorId id : tensors.ids()) {
    const TensorId copy = builder.add_tensor({.name = rank == 0 ? tensors.name(id) : std::string{},
                                              .bytes = tensors.bytes(id),
                                              .accumulate = tensors.accumulate(id),
                                              .persistent = tensors.persistent(id)});
    for (const TaskId task : tensors.writers(id)) builder.writes(copy_of(task), copy);
    for (const TaskId task : tensors.readers(id)) builder.reads(copy_of(task), copy);
    tensor_copy[id] = copy;
  }
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    const TaskId part = builder.add_task(
        OperationId{first_all_reduce.value() + b},
        {},
        rank == 0 ? fmt::format("all_reduce_{}", b) : fmt::format("all_reduce_{}@{}", b, rank));
    builder.set_rank(part, rank);
    builder.joins(part, collectives[b]);
    for (const TensorId gradient : buckets[b].gradients) {
      builder.reads(part, tensor_copy[gradient]);
      const auto writers = tensors.writers(gradient);
      for (const TaskId reader : tensors.readers(gradient)) {
        const bool writes = std::find(writers.begin(), writers.end(), reader) != writers.end();
        if (!writes) builder.add_edge(part, copy_of(reader));
      }
    }
  }
}

}  // namespace

TaskGraph DataParallel::apply(const TaskGraph& graph) const {
  SCHEDLAB_EXPECTS(options_.ranks > 0 && options_.bucket > Bytes{0},
                   "data parallelism needs ranks and buckets");
  if (graph.has_ranks() || !graph.collectives().empty()) {
    throw InfeasibleError(
        "data_parallel: the graph says already which rank does what; leave \"ranks\" out");
  }
  const std::vector<Bucket> buckets = fill_buckets(graph, options_.bucket);
  if (buckets.empty()) {
    throw InfeasibleError(
        "data_parallel: the graph has no gradients (tensors that only tasks of class "
        "weight_gradient write; without such tasks persistent tensors that accumulate)\n  use a "
        "backward pass or a training step");
  }
  TaskGraphBuilder builder;
  builder.reserve(options_.ranks * (graph.task_count() + buckets.size()),
                  options_.ranks * graph.edge_count());
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  const OperationId first_all_reduce{static_cast<std::uint32_t>(graph.operations().size())};
  std::vector<CollectiveId> collectives;
  for (const Bucket& bucket : buckets) {
    builder.add_operation({.name = "all_reduce", .kind = TaskKind::collective});
    collectives.push_back(builder.add_collective(
        {.op = CollectiveOp::all_reduce, .bytes = bucket.bytes, .algorithm = options_.algorithm}));
  }
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    add_rank(graph, buckets, rank, first_all_reduce, collectives, builder);
  }
  return std::move(builder).build();
}

}  // namespace schedlab
