// SPDX-License-Identifier: Apache-2.0
#include "policies/critical_lanes.hpp"

#include "policies/wavefront.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace schedlab {
namespace {

void find_critical(const TaskGraph& graph, CriticalLanes& lanes) {
  lanes.critical.assign(graph.task_count(), 0);
  const std::vector<TaskId> order = graph.topological_order();
  std::size_t count = 0;
  std::for_each(order.rbegin(), order.rend(), [&](TaskId task) {
    const auto after = graph.successors(task);
    const bool update = graph.operation(task).task_class == TaskClass::update;
    const bool critical =
        graph.critical(task) || (!update && std::any_of(after.begin(), after.end(), [&](TaskId s) {
          return lanes.critical[s] != 0;
        }));
    lanes.critical[task] = critical ? 1 : 0;
    count += critical ? 1U : 0U;
  });
  if (count == 0) lanes.critical.assign(graph.task_count(), 1);
  lanes.all_critical = count == 0 || count == graph.task_count();
}

/// The layer of the first critical neighbour that has one, or -1.
int layer_of_neighbours(const TaskGraph& graph, const CriticalLanes& lanes, TaskId task) {
  for (const auto neighbours : {graph.successors(task), graph.predecessors(task)}) {
    for (const TaskId other : neighbours) {
      if (lanes.critical[other] != 0 && graph.tags(other).layer >= 0)
        return graph.tags(other).layer;
    }
  }
  return -1;
}

void find_layers(const TaskGraph& graph, CriticalLanes& lanes) {
  lanes.layer.assign(graph.task_count(), 0);
  std::vector<bool> seen;
  for (const TaskId task : graph.tasks()) {
    if (lanes.critical[task] == 0) continue;
    int layer = graph.tags(task).layer;
    if (layer < 0) layer = std::max(layer_of_neighbours(graph, lanes, task), 0);
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
    return lanes.critical[other] != 0 && lanes.layer[other] == lanes.layer[task];
  });
}

using Flags = IdVector<OperationId, std::uint8_t>;

Flags matmul_operations(const TaskGraph& graph) {
  Flags matmul;
  for (const Operation& operation : graph.operations()) {
    matmul.push_back(is_matmul(operation) ? 1 : 0);
  }
  return matmul;
}

/// Matrix operations whose tasks both come from and lead to critical tasks of their own layer.
/// Decided per operation, so that the ends of a chain go where its middle goes. `matmuls`: the
/// critical tasks of matrix operations.
Flags chain_operations(const TaskGraph& graph,
                       const CriticalLanes& lanes,
                       const std::vector<TaskId>& matmuls) {
  Flags entered(graph.operations().size(), 0);
  Flags left(graph.operations().size(), 0);
  for (const TaskId task : matmuls) {
    const OperationId op = graph.operation_id(task);
    if (entered[op] == 0 && has_layer_mate(lanes, task, graph.predecessors(task))) entered[op] = 1;
    if (left[op] == 0 && has_layer_mate(lanes, task, graph.successors(task))) left[op] = 1;
  }
  for (const OperationId op : entered.ids()) entered[op] &= left[op];
  return entered;
}

void find_second(const TaskGraph& graph, CriticalLanes& lanes) {
  const Flags matmul = matmul_operations(graph);
  std::vector<TaskId> matmuls;
  for (const TaskId task : graph.tasks()) {
    if (lanes.critical[task] != 0 && matmul[graph.operation_id(task)] != 0) matmuls.push_back(task);
  }
  const Flags chain = chain_operations(graph, lanes, matmuls);
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
    layer.has_chain = layer.has_chain || chain[op] != 0;
  }
  lanes.second.assign(graph.task_count(), 0);
  for (const TaskId task : matmuls) {
    const OperationId op = graph.operation_id(task);
    const Layer& layer = layers[lanes.layer[task]];
    const bool second = layer.has_chain ? chain[op] == 0 : op != layer.first;
    lanes.second[task] = second ? 1 : 0;
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
