// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/chakra_ranks.hpp"
#include "workloads/traces/execution_times.hpp"
#include "workloads/traces/foreign_graph.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// What the files of one import hold: traces of one or several ranks, or one graph.
struct ImportedInput {
  std::vector<ImportedTrace> ranks;  ///< by rank; empty: a graph
  ForeignGraph graph;                ///< if there are no ranks
  std::string graph_file;
  std::vector<std::string> graph_files;  ///< of several ranks: by rank
  Plan plan;                             ///< of several ranks: what their hosts launch
  std::string execution_trace;  ///< what the one profile was joined with; `graph` is then of both
  JoinCounts joined;            ///< how well the two fit
};

/// Traces of the PyTorch profiler and our own (trace.json, or the folder of a run), one graph file
/// of any format, or binary Chakra traces of several ranks; known by their content, plain or gzip.
/// Throws InputError, also for several files that are not ranks.
[[nodiscard]] ImportedInput load_imported_input(const std::vector<std::string>& files);
/// Joins the profile of `input` with the execution trace of the same run (join_execution_trace).
/// Throws InputError, also if `input` is anything but one profile.
void join_with(const std::string& execution_trace, ImportedInput& input);

}  // namespace schedlab
