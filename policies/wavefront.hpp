// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/matmul.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab {

/// Number of layers of the graph by its tags: the highest layer + 1; 0 if no task has a layer.
[[nodiscard]] std::uint32_t layer_count(const TaskGraph& graph);

/// Layers of the deepest stack of the graph. Layers are in one stack if some task of the one needs
/// one of the other at the same step: the layers of an LSTM are one, those of an encoder and its
/// decoder two, as what the latter reads of the former passes through attention or is another
/// step's. Cost: O(tasks + edges).
[[nodiscard]] std::uint32_t deepest_stack(const TaskGraph& graph);

/// All tasks level by level (breadth-first), by id within a level: the order in which a wavefront
/// passes over a gradient grid, one diagonal per level. A topological order. Cost O(tasks + edges).
[[nodiscard]] std::vector<TaskId> wavefront_order(const TaskGraph& graph);

/// The largest number of tasks in one level.
[[nodiscard]] std::uint32_t widest_level(const TaskGraph& graph);

/// The topological order that always takes the ready task with the lowest key, the lowest id among
/// equals. `key` is called once per task. Cost O(tasks log tasks + edges).
[[nodiscard]] std::vector<TaskId> order_by_key(const TaskGraph& graph,
                                               const std::function<std::int64_t(TaskId)>& key);

}  // namespace schedlab
