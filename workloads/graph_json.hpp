// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string>

namespace schedlab {

/// A graph as JSON; docs/workload_format.md describes it. Nothing is lost but durations below 1 ps.
/// Tasks refer to operations and to each other by index.
[[nodiscard]] std::string write_graph_json(const TaskGraph& graph);

/// Reads a graph. Tasks name what they need by index or by name; nameless tasks with indices are
/// read without any table of names, at least three times faster than named ones.
///
/// Errors  InputError with file, JSON pointer, what was found and expected, and the closest name.
/// Cost    O(bytes); memory at most a few times the bytes. The text is taken by value because the
/// parser
///         needs some bytes of capacity behind it (read_file leaves them).
[[nodiscard]] TaskGraph read_graph_json(std::string text, const std::string& file);

}  // namespace schedlab
