// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/tensor_parallel.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/join_over_ranks.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {

TaskGraph TensorParallel::apply(const TaskGraph& graph) const {
  SCHEDLAB_EXPECTS(options_.ranks > 0, "tensor parallelism needs ranks");
  if (graph.has_ranks() || !graph.collectives().empty()) {
    throw InfeasibleError("tensor_parallel: the graph says already which rank does what");
  }
  IdVector<TaskId, std::uint32_t> position(graph.task_count());
  std::uint32_t next = 0;
  for (const TaskId task : graph.topological_order()) position[task] = next++;
  std::vector<std::pair<std::uint32_t, detail::JoinedTensors>> found;
  for (const TensorId tensor : graph.tensors().ids()) {
    const auto writers = graph.tensors().writers(tensor);
    if (writers.size() != 1) continue;
    const std::string& operation = graph.operation(writers.front()).name;
    const auto join = std::find_if(options_.joins.begin(),
                                   options_.joins.end(),
                                   [&](const Join& j) { return j.operation == operation; });
    if (join == options_.joins.end()) continue;
    Bytes bytes = graph.tensors().bytes(tensor);
    if (join->op == CollectiveOp::all_gather) bytes = Bytes{bytes.count() * options_.ranks};
    found.emplace_back(
        position[writers.front()],
        detail::JoinedTensors{
            .tensors = {tensor},
            .spec = {.op = join->op, .bytes = bytes, .algorithm = options_.algorithm}});
  }
  if (found.empty()) {
    throw InfeasibleError(
        "tensor_parallel: the graph has no tensors to join over the ranks\n  set include_tensors");
  }
  std::stable_sort(
      found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<detail::JoinedTensors> joined;
  joined.reserve(found.size());
  for (auto& [at, tensors] : found) joined.push_back(std::move(tensors));
  return detail::join_over_ranks(graph, options_.ranks, joined);
}

}  // namespace schedlab
