// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/device_graph.hpp"

#include "sim/base/error.hpp"
#include "sim/machine/platform.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

std::uint32_t DeviceGraph::add_node(StreamId stream,
                                    std::vector<std::uint32_t> needs,
                                    bool programmatic) {
  const std::uint32_t node = node_count();
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  SCHEDLAB_EXPECTS(
      needs.empty() || needs.back() < node,
      fmt::format("node {} of graph \"{}\" needs node {}: nodes need only nodes before them",
                  node,
                  name,
                  needs.empty() ? 0 : needs.back()));
  SCHEDLAB_EXPECTS(launches_ == 0, "add all nodes before the first launch");
  SCHEDLAB_EXPECTS(
      !programmatic || needs.size() == 1,
      fmt::format(
          "programmatic node {} of graph \"{}\" has {} needs, not one", node, name, needs.size()));
  if (programmatic) {
    programmatic_.resize(node + 1, 0);
    programmatic_.back() = 1;
  }
  streams_.push_back(stream);
  needs_.insert(needs_.end(), needs.begin(), needs.end());
  offset_.push_back(static_cast<std::uint32_t>(needs_.size()));
  return node;
}

void DeviceGraph::add_launch(std::span<const TaskId> tasks) {
  SCHEDLAB_EXPECTS(
      tasks.size() == node_count(),
      fmt::format("{} tasks for the {} nodes of graph \"{}\"", tasks.size(), node_count(), name));
  tasks_.insert(tasks_.end(), tasks.begin(), tasks.end());
  ++launches_;
}

std::size_t DeviceGraph::memory_bytes() const {
  return sizeof(DeviceGraph) + name.capacity() + streams_.capacity() * sizeof(StreamId) +
         (offset_.capacity() + needs_.capacity()) * sizeof(std::uint32_t) +
         tasks_.capacity() * sizeof(TaskId) + programmatic_.capacity();
}

Duration gap_before(const DeviceGraph& graph, std::uint32_t node, const Device& device) {
  if (!graph.programmatic(node)) return device.graph_node_gap;
  return device.programmatic_gap.value_or(device.graph_node_gap);
}

GraphSuccessors::GraphSuccessors(const DeviceGraph& graph)
    : offset(graph.node_count() + 1, 0), nodes(graph.edge_count()) {
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    for (const std::uint32_t need : graph.needs(node)) ++offset[need + 1];
  }
  for (std::size_t i = 1; i < offset.size(); ++i) offset[i] += offset[i - 1];
  std::vector<std::uint32_t> next(offset.begin(), offset.end() - 1);
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    for (const std::uint32_t need : graph.needs(node)) nodes[next[need]++] = node;
  }
}

}  // namespace schedlab
