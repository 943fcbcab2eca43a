// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// The graph launches of an ordered trace of which nodes are missing, by the start of the call.
///
/// Siblings  launches of one graph, where the profile numbers graphs; else launches from one site:
///           the same thread with the same operators around the call, at the same place of an
///           iteration (`ProfilerStep#N`) if there are any. A launch without nodes has no number:
///           its siblings are those of its site if that launches one graph only, or the one graph
///           that its thread launches.
/// Missing   nodes, where the largest sibling has more. Where graphs have no numbers, the names of
///           the nodes must be those of a sibling with some left out, and be so only once at a site
///           of at most 64 graphs: what recurs is another graph. Launches while a thread captures
///           do not run.
/// Cost      O(64 * nodes), O(calls + operators) beyond.
[[nodiscard]] std::vector<GraphLoss> find_graph_losses(const ImportedTrace& trace);

/// "cudaGraphLaunch with correlation 17 at 1204.000 us: 2 of 339 nodes".
[[nodiscard]] std::string describe(const ImportedTrace& trace, const GraphLoss& loss);

/// Adds the missing nodes of every loss that has a whole sibling, `assumed`: as long as, and as
/// long after the graph's begin as, the median of its whole siblings. A graph without a recorded
/// node begins as long after its call as they do (median), but not before its stream was free; what
/// would last beyond GraphLoss::to is compressed to end there. Changes `graph_losses`.
void fill_graph_launches(ImportedTrace& trace);

}  // namespace schedlab
