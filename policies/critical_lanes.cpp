// SPDX-License-Identifier: Apache-2.0
#include "policies/critical_lanes.hpp"

#include "policies/wavefront.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace schedlab {
namespace {

void find_critical(const TaskGraph& graph, CriticalLanes& lanes) {
  lanes.critical.assign(graph.task_count(), false);
  const std::vector<TaskId> order = graph.topological_order();
  bool any = false;
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    const auto after = graph.successors(*task);
    const bool critical =
        graph.critical(*task) ||
        std::any_of(after.begin(), after.end(), [&](TaskId s) { return bool{lanes.critical[s]}; });
    lanes.critical[*task] = critical;
    any = any || critical;
  }
  if (!any) lanes.critical.assign(graph.task_count(), true);
  const auto& flags = lanes.critical.raw();
  lanes.all_critical = std::find(flags.begin(), flags.end(), false) == flags.end();
}

void find_layers(const TaskGraph& graph, CriticalLanes& lanes) {
  lanes.layer.assign(graph.task_count(), 0);
  std::vector<bool> seen;
  for (const TaskId task : graph.tasks()) {
    if (!lanes.critical[task]) continue;
    int layer = graph.tags(task).layer;
    for (const auto neighbours : {graph.successors(task), graph.predecessors(task)}) {
      for (const TaskId other : neighbours) {
        if (layer < 0 && lanes.critical[other]) layer = graph.tags(other).layer;
      }
    }
    layer = std::max(layer, 0);
    lanes.layer[task] = static_cast<std::uint16_t>(layer);
    if (static_cast<std::size_t>(layer) >= seen.size()) {
      seen.resize(static_cast<std::size_t>(layer) + 1, false);
    }
    seen[static_cast<std::size_t>(layer)] = true;
  }
  lanes.layer_count = static_cast<std::uint32_t>(std::count(seen.begin(), seen.end(), true));
}

/// Is there a critical task of the same layer among `neighbours`?
bool has_layer_mate(const CriticalLanes& lanes, TaskId task, std::span<const TaskId> neighbours) {
  return std::any_of(neighbours.begin(), neighbours.end(), [&](TaskId other) {
    return lanes.critical[other] && lanes.layer[other] == lanes.layer[task];
  });
}

/// Decided per operation, so that the ends of a chain go where its middle goes.
void find_second(const TaskGraph& graph, CriticalLanes& lanes) {
  constexpr std::uint8_t entered = 1;
  constexpr std::uint8_t left = 2;
  IdVector<OperationId, std::uint8_t> links(graph.operations().size(), 0);
  IdVector<OperationId, bool> matmul(graph.operations().size(), false);
  for (const OperationId op : graph.operations().ids()) {
    matmul[op] = is_matmul(graph.operations()[op]);
  }
  for (const TaskId task : graph.tasks()) {
    if (!lanes.critical[task]) continue;
    std::uint8_t& link = links[graph.operation_id(task)];
    if (has_layer_mate(lanes, task, graph.predecessors(task))) link |= entered;
    if (has_layer_mate(lanes, task, graph.successors(task))) link |= left;
  }
  // A single step has no chain: then the first matrix operation of the layer stays with the cell.
  std::vector<OperationId> first_matmul;
  std::vector<bool> has_chain;
  for (const TaskId task : graph.tasks()) {
    const OperationId op = graph.operation_id(task);
    if (!lanes.critical[task] || !matmul[op]) continue;
    const std::size_t layer = lanes.layer[task];
    if (layer >= first_matmul.size()) {
      first_matmul.resize(layer + 1);
      has_chain.resize(layer + 1, false);
    }
    if (!first_matmul[layer].valid()) first_matmul[layer] = op;
    if (links[op] == (entered | left)) has_chain[layer] = true;
  }
  lanes.second.assign(graph.task_count(), false);
  for (const TaskId task : graph.tasks()) {
    const OperationId op = graph.operation_id(task);
    if (!lanes.critical[task] || !matmul[op]) continue;
    const std::size_t layer = lanes.layer[task];
    lanes.second[task] =
        has_chain[layer] ? links[op] != (entered | left) : op != first_matmul[layer];
  }
}

}  // namespace

CriticalLanes critical_lanes(const TaskGraph& graph) {
  CriticalLanes lanes;
  find_critical(graph, lanes);
  find_layers(graph, lanes);
  find_second(graph, lanes);
  return lanes;
}

}  // namespace schedlab
