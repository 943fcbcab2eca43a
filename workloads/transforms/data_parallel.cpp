// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/data_parallel.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/join_over_ranks.hpp"

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
  // Also what an update reads that a task made beside data (batch normalisation).
  const auto updates = [&](TaskId task) {
    return graph.operation(task).task_class == TaskClass::update;
  };
  return !writers.empty() && !partial &&
         (std::all_of(writers.begin(), writers.end(), makes_gradients) ||
          std::any_of(readers.begin(), readers.end(), updates));
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
  std::vector<detail::JoinedTensors> joined;
  joined.reserve(buckets.size());
  for (const Bucket& bucket : buckets) {
    joined.push_back({.tensors = bucket.gradients,
                      .spec = {.op = CollectiveOp::all_reduce,
                               .bytes = bucket.bytes,
                               .algorithm = options_.algorithm}});
  }
  return detail::join_over_ranks(graph, options_.ranks, joined);
}

}  // namespace schedlab
