// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// A graph as JSON; docs/workload_format.md describes it. Nothing is lost but durations below 1 ps.
/// Tasks refer to operations and to each other by index.
[[nodiscard]] std::string write_graph_json(const TaskGraph& graph);

/// Reads a graph. Tasks name what they need by index or by name; tasks written as write_graph_json
/// does (no names, its order of keys) are read several times faster than others.
///
/// Errors  InputError with file, JSON pointer, what was found and expected, and the closest name.
/// Cost    O(bytes); memory at most a few times the bytes.
[[nodiscard]] TaskGraph read_graph_json(std::string_view text, const std::string& file);

}  // namespace schedlab
