// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/reconstruct.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// A device graph as its launches show it.
struct ImportedGraph {
  std::vector<StreamItemId> launches;  ///< by start; each has the same activities in the same order
  /// What each node needs, by node: those that had ended, in every launch, before it started,
  /// without what follows from others.
  std::vector<std::vector<std::uint32_t>> needs;

  [[nodiscard]] std::uint32_t node_count() const {
    return static_cast<std::uint32_t>(needs.size());
  }
};

/// The graphs of a trace by their first launch. Launches of one graph are told by the names of
/// their activities in the order of their starts. A node may need any of the 64 before it.
/// Cost  O(nodes * launches * 64).
[[nodiscard]] std::vector<ImportedGraph> imported_graphs(const ImportedTrace& trace,
                                                         const ReconstructedTrace& order);

/// Adds, for each node of each launch that started before `until`, the time since the last of its
/// needs had ended, where that is no longer than `unexplained_wait`.
void collect_node_gaps(const ImportedTrace& trace,
                       const ReconstructedTrace& order,
                       const ImportedGraph& graph,
                       Time until,
                       std::vector<Duration>& gaps);

}  // namespace schedlab
