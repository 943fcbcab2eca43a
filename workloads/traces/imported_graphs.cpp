// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/imported_graphs.hpp"

#include <algorithm>
#include <map>

namespace schedlab {
namespace {

constexpr std::uint32_t furthest_need = 64;  // nodes back that a node may need: bits of a word

const DeviceRow& node_row(const ImportedTrace& trace,
                          const ReconstructedTrace& order,
                          StreamItemId launch,
                          std::uint32_t node) {
  return trace.device_rows[order.rows_of(launch)[node]];
}

bool always_before(const ImportedTrace& trace,
                   const ReconstructedTrace& order,
                   const ImportedGraph& graph,
                   std::uint32_t first,
                   std::uint32_t then) {
  return std::all_of(graph.launches.begin(), graph.launches.end(), [&](StreamItemId launch) {
    return node_row(trace, order, launch, first).ended <=
           node_row(trace, order, launch, then).started;
  });
}

/// Bit i of ancestors[n]: node n-1-i must have ended before n starts.
void find_needs(const ImportedTrace& trace, const ReconstructedTrace& order, ImportedGraph& graph) {
  const auto nodes = static_cast<std::uint32_t>(graph.needs.size());
  std::vector<std::uint64_t> ancestors(nodes, 0);
  for (std::uint32_t node = 1; node < nodes; ++node) {
    std::uint64_t covered = 0;
    for (std::uint32_t back = 0; back < std::min(node, furthest_need); ++back) {
      if (((covered >> back) & 1U) != 0) continue;
      const std::uint32_t before = node - 1 - back;
      if (!always_before(trace, order, graph, before, node)) continue;
      graph.needs[node].push_back(before);
      covered |= std::uint64_t{1} << back;
      if (back + 1 < furthest_need) covered |= ancestors[before] << (back + 1);
    }
    ancestors[node] = covered;
  }
}

}  // namespace

std::vector<ImportedGraph> imported_graphs(const ImportedTrace& trace,
                                           const ReconstructedTrace& order) {
  std::vector<ImportedGraph> result;
  std::map<std::vector<TextId>, std::size_t> known;
  for (const StreamItemId id : order.items.ids()) {
    if (!order.items[id].graph) continue;
    std::vector<TextId> names;
    for (const std::uint32_t row : order.rows_of(id)) names.push_back(trace.device_rows[row].name);
    const auto [place, added] = known.try_emplace(std::move(names), result.size());
    if (added) {
      result.emplace_back();
      result.back().needs.resize(order.items[id].row_count);
    }
    result[place->second].launches.push_back(id);
  }
  for (ImportedGraph& graph : result) find_needs(trace, order, graph);
  return result;
}

void collect_node_gaps(const ImportedTrace& trace,
                       const ReconstructedTrace& order,
                       const ImportedGraph& graph,
                       Time until,
                       std::vector<Duration>& gaps) {
  for (const StreamItemId launch : graph.launches) {
    if (order.items[launch].started >= until) continue;
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      if (graph.needs[node].empty()) continue;
      Time last = Time::min();
      for (const std::uint32_t need : graph.needs[node]) {
        last = std::max(last, node_row(trace, order, launch, need).ended);
      }
      const Duration gap = node_row(trace, order, launch, node).started - last;
      if (gap <= unexplained_wait) gaps.push_back(gap);
    }
  }
}

}  // namespace schedlab
