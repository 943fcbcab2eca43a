// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstdint>

namespace schedlab {

/// What critical_first knows of a graph before it starts; found from classes, tags and edges, never
/// from names. Flags are 0 or 1.
struct CriticalLanes {
  /// Critical by class, or needed by such a task (a copy of the input, say). Updates never are, nor
  /// what only they need: the next iteration's tasks, which do need them, can wait. Where no task
  /// has a critical class every task counts as critical.
  IdVector<TaskId, std::uint8_t> critical;
  /// The layer on whose streams a critical task runs: its own or, without one, that of its first
  /// critical neighbour with a layer, else 0.
  IdVector<TaskId, std::uint16_t> layer;
  /// Marks critical tasks that run on the second stream of their layer. The first carries the chain
  /// along the steps of the layer; matrix work that only enters or leaves the layer goes to the
  /// second (backward: cell and hidden_1 first, hidden_2 second; forward: input_gemm second).
  IdVector<TaskId, std::uint8_t> second;
  std::uint32_t layer_count = 0;  ///< layers with critical tasks
  bool all_critical = false;
};

/// Cost O(tasks + edges).
[[nodiscard]] CriticalLanes critical_lanes(const TaskGraph& graph);

}  // namespace schedlab
