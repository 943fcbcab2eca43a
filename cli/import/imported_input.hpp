// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/import/foreign_graph.hpp"
#include "workloads/import/imported_trace.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// What the files of one import hold: traces of one or several ranks, or one graph.
struct ImportedInput {
  std::vector<ImportedTrace> ranks;  ///< by rank; empty: a graph
  ForeignGraph graph;                ///< if there are no ranks
  std::string graph_file;
};

/// Traces of the PyTorch profiler and our own (trace.json, or the folder of a run), or one graph
/// file of any format; known by their content, plain or gzip.
/// Throws InputError, also for a graph among several files.
[[nodiscard]] ImportedInput load_imported_input(const std::vector<std::string>& files);

}  // namespace schedlab
