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
  std::for_each(order.rbegin(), order.rend(), [&](TaskId task) {
    const auto after = graph.successors(task);
    const bool critical =
        graph.critical(task) ||
        std::any_of(after.begin(), after.end(), [&](TaskId s) { return bool{lanes.critical[s]}; });
    lanes.critical[task] = critical;
    any = any || critical;
  });
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

/// Matrix operations whose tasks both come from and lead to critical tasks of their own layer.
/// Decided per operation, so that the ends of a chain go where its middle goes.
IdVector<OperationId, bool> chain_operations(const TaskGraph& graph, const CriticalLanes& lanes) {
  IdVector<OperationId, bool> entered(graph.operations().size(), false);
  IdVector<OperationId, bool> left(graph.operations().size(), false);
  for (const TaskId task : graph.tasks()) {
    if (!lanes.critical[task]) continue;
    const OperationId op = graph.operation_id(task);
    if (has_layer_mate(lanes, task, graph.predecessors(task))) entered[op] = true;
    if (has_layer_mate(lanes, task, graph.successors(task))) left[op] = true;
  }
  IdVector<OperationId, bool> chain(graph.operations().size(), false);
  for (const OperationId op : graph.operations().ids()) {
    chain[op] = entered[op] && left[op] && is_matmul(graph.operations()[op]);
  }
  return chain;
}

void find_second(const TaskGraph& graph, CriticalLanes& lanes) {
  const IdVector<OperationId, bool> chain = chain_operations(graph, lanes);
  std::vector<TaskId> matmuls;
  for (const TaskId task : graph.tasks()) {
    if (lanes.critical[task] && is_matmul(graph.operation(task))) matmuls.push_back(task);
  }
  // A single step has no chain: then the first matrix operation of the layer stays with the cell.
  struct Layer {
    OperationId first;
    bool has_chain = false;
  };
  std::vector<Layer> layers;
  for (const TaskId task : matmuls) {
    const OperationId op = graph.operation_id(task);
    if (lanes.layer[task] >= layers.size()) layers.resize(lanes.layer[task] + std::size_t{1});
    Layer& layer = layers[lanes.layer[task]];
    if (!layer.first.valid()) layer.first = op;
    layer.has_chain = layer.has_chain || chain[op];
  }
  lanes.second.assign(graph.task_count(), false);
  for (const TaskId task : matmuls) {
    const OperationId op = graph.operation_id(task);
    const Layer& layer = layers[lanes.layer[task]];
    lanes.second[task] = layer.has_chain ? !chain[op] : op != layer.first;
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
