// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/task_kinds.hpp"

#include <algorithm>

namespace schedlab {
namespace {

/// Does every task last as long as its operation, on each device?
bool last_as_operations(const Problem& problem) {
  const auto tasks = problem.graph.tasks();
  return std::ranges::all_of(problem.platform.devices.ids(), [&](DeviceId device) {
    return std::ranges::all_of(tasks, [&](TaskId task) {
      return problem.costs.duration(task, device) ==
             problem.costs.entry(task, device).estimate.duration;
    });
  });
}

}  // namespace

TaskKinds::TaskKinds(const Problem& problem) : kind_of_(problem.graph.task_count()) {
  const TaskGraph& graph = problem.graph;
  const bool by_operation =
      !graph.has_ranks() && graph.collectives().empty() && last_as_operations(problem);
  if (!by_operation) {
    for (const TaskId task : graph.tasks()) {
      kind_of_[task] = task.value();
      examples_.push_back(task);
    }
    return;
  }
  constexpr std::uint32_t unseen = ~std::uint32_t{0};
  IdVector<OperationId, std::uint32_t> kinds(graph.operations().size(), unseen);
  for (const TaskId task : graph.tasks()) {
    std::uint32_t& kind = kinds[graph.operation_id(task)];
    if (kind == unseen) {
      kind = static_cast<std::uint32_t>(examples_.size());
      examples_.push_back(task);
    }
    kind_of_[task] = kind;
  }
}

}  // namespace schedlab
