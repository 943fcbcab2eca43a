// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/components.hpp"

#include "sim/base/error.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace schedlab {
namespace {

using Graph = boost::compressed_sparse_row_graph<boost::directedS,
                                                 boost::no_property,
                                                 boost::no_property,
                                                 boost::no_property,
                                                 std::uint32_t,
                                                 std::uint32_t>;

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

Graph make_graph(std::size_t vertex_count, const std::vector<Edge>& edges) {
  for (const Edge& edge : edges) {
    SCHEDLAB_EXPECTS(
        edge.first < vertex_count && edge.second < vertex_count,
        fmt::format("edge {} -> {} of {} vertices", edge.first, edge.second, vertex_count));
  }
  return {boost::edges_are_unsorted_multi_pass,
          edges.begin(),
          edges.end(),
          static_cast<std::uint32_t>(vertex_count)};
}

std::vector<std::uint32_t> components_of(const Graph& graph) {
  std::vector<std::uint32_t> component(boost::num_vertices(graph));
  if (component.empty()) return component;
  const auto index = boost::get(boost::vertex_index, graph);
  boost::strong_components(graph, boost::make_iterator_property_map(component.begin(), index));
  return component;
}

/// Breadth-first from `start` inside its component until an edge leads back to it.
std::vector<std::uint32_t> shortest_cycle_through(const Graph& graph,
                                                  const std::vector<std::uint32_t>& component,
                                                  std::uint32_t start) {
  std::vector<std::uint32_t> parent(component.size(), none);
  std::vector<std::uint32_t> order{start};
  for (std::size_t head = 0; head < order.size(); ++head) {
    const std::uint32_t vertex = order[head];
    const auto [begin, end] = boost::adjacent_vertices(vertex, graph);
    for (auto it = begin; it != end; ++it) {
      const std::uint32_t next = *it;
      if (next == start) {
        std::vector<std::uint32_t> cycle{vertex};
        while (cycle.back() != start) cycle.push_back(parent[cycle.back()]);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      if (component[next] != component[start] || parent[next] != none) continue;
      parent[next] = vertex;
      order.push_back(next);
    }
  }
  return {};  // alone in its component
}

}  // namespace

std::vector<std::uint32_t> strong_components(std::size_t vertex_count,
                                             const std::vector<Edge>& edges) {
  return components_of(make_graph(vertex_count, edges));
}

std::vector<std::uint32_t> find_cycle(std::size_t vertex_count, const std::vector<Edge>& edges) {
  const Graph graph = make_graph(vertex_count, edges);
  const std::vector<std::uint32_t> component = components_of(graph);
  std::vector<std::uint32_t> size(component.size(), 0);
  for (const std::uint32_t c : component) ++size[c];
  std::vector<std::uint8_t> own_successor(component.size(), 0);
  for (const Edge& edge : edges) {
    if (edge.first == edge.second) own_successor[edge.first] = 1;
  }
  for (std::uint32_t vertex = 0; vertex < component.size(); ++vertex) {
    if (size[component[vertex]] > 1 || own_successor[vertex] != 0) {
      return shortest_cycle_through(graph, component, vertex);
    }
  }
  return {};
}

std::string print_cycle(const std::vector<std::uint32_t>& cycle,
                        const std::function<std::string(std::size_t)>& name) {
  constexpr std::size_t shown = 12;
  if (cycle.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (cycle.size() > shown && i == shown - 1) {
      text += fmt::format("... ({} more) -> ", cycle.size() - shown);
      i = cycle.size() - 1;
    }
    text += name(cycle[i]) + " -> ";
  }
  return text + name(cycle.front());
}

}  // namespace schedlab
