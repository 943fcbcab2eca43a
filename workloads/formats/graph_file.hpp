// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <filesystem>

namespace schedlab {

/// Reads a graph file, plain or gzip. Those of other programs (read_foreign_graph) are known by
/// their keys; of the others `.json`, `.stg`, `.dot` and `.gv` are known by extension, any other by
/// content (JSON starts with "{", our compact text with "schedlab-graph", DOT with "digraph" or a
/// comment, the rest is taken for a Standard Task Graph Set file). A graph that is not numbered
/// topologically is renumbered, which engines are several times faster on; tasks keep their names.
/// NAME.*.et means all ranks of a binary Chakra trace (read_chakra_ranks).
/// Throws InputError naming file, place and what was expected.
[[nodiscard]] TaskGraph read_graph_file(const std::filesystem::path& path);

}  // namespace schedlab
