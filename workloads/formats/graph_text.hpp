// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// Our compact form of a graph: numbers in lines, several times faster to read than JSON. Nothing
/// is lost: read_graph_text(write_graph_text(g)) equals g. docs/workload_format.md describes it.
[[nodiscard]] std::string write_graph_text(const TaskGraph& graph);

/// Throws InputError with file, line, what was found and expected. Memory: at most a few times the
/// text.
[[nodiscard]] TaskGraph read_graph_text(std::string_view text, const std::string& file);

/// Whether a text starts like our compact form.
[[nodiscard]] bool is_graph_text(std::string_view text);

}  // namespace schedlab
