// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// A graph of tasks that a host launches with one call (a CUDA graph, an Ascend model): nodes and
/// what each needs, and for each launch the tasks that the nodes run. In a run it is launched as
/// often as it has rows of tasks, in the order of its host's calls: a training step that is loaded
/// once and launched for each iteration.
///
/// Nodes are numbered from 0 and need only nodes with lower numbers; there are no cycles to find.
/// Only needs order nodes: two nodes that carry the same stream may run at once.
class DeviceGraph {
 public:
  std::string name;
  /// A node runs with the priority of the stream it carries (CUDA:
  /// cudaGraphInstantiateFlagUseNodePriority); false: all with that of the stream of the launch.
  bool node_priorities = true;

  /// Adds a node. `stream`: a stream of the plan, which gives the node's device, its priority and
  /// its track in a timeline (capture takes the stream it was launched on); nothing of the node is
  /// put into it. `needs` are kept sorted, without duplicates. `programmatic`: it may start
  /// Device::programmatic_gap after the end of its only need, and not graph_node_gap.
  /// Throws ContractViolation if a need is not a node before this one, or for a programmatic node
  /// with another number of needs than one.
  std::uint32_t add_node(StreamId stream,
                         std::vector<std::uint32_t> needs,
                         bool programmatic = false);
  /// The tasks of one more launch, one per node. Throws ContractViolation for any other number.
  void add_launch(std::span<const TaskId> tasks);

  [[nodiscard]] std::uint32_t node_count() const {
    return static_cast<std::uint32_t>(streams_.size());
  }
  [[nodiscard]] std::uint32_t launch_count() const { return launches_; }
  [[nodiscard]] std::size_t edge_count() const { return needs_.size(); }
  [[nodiscard]] StreamId stream(std::uint32_t node) const { return streams_[node]; }
  /// Is the edge from its only need a programmatic one?
  [[nodiscard]] bool programmatic() const { return !programmatic_.empty(); }
  [[nodiscard]] bool programmatic(std::uint32_t node) const {
    return node < programmatic_.size() && programmatic_[node] != 0;
  }
  [[nodiscard]] std::span<const std::uint32_t> needs(std::uint32_t node) const {
    return {needs_.data() + offset_[node], needs_.data() + offset_[node + 1]};
  }
  [[nodiscard]] TaskId task(std::uint32_t launch, std::uint32_t node) const {
    return tasks_[std::size_t{launch} * node_count() + node];
  }
  /// The tasks of one launch, by node.
  [[nodiscard]] std::span<const TaskId> tasks(std::uint32_t launch) const {
    return {tasks_.data() + std::size_t{launch} * node_count(), node_count()};
  }

  [[nodiscard]] std::size_t memory_bytes() const;
  friend bool operator==(const DeviceGraph&, const DeviceGraph&) = default;

 private:
  std::vector<StreamId> streams_;         // by node
  std::vector<std::uint32_t> offset_{0};  // compressed rows of needs_
  std::vector<std::uint32_t> needs_;
  std::vector<TaskId> tasks_;  // [launch][node]
  std::uint32_t launches_ = 0;
  std::vector<std::uint8_t> programmatic_;  // by node, up to the last that is
};

struct Device;
/// From the end of a node that this one needs to its own start at the earliest.
[[nodiscard]] Duration gap_before(const DeviceGraph& graph,
                                  std::uint32_t node,
                                  const Device& device);

/// The needs the other way round: which nodes need this one, compressed rows.
struct GraphSuccessors {
  explicit GraphSuccessors(const DeviceGraph& graph);

  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
    return {nodes.data() + offset[node], nodes.data() + offset[node + 1]};
  }

  std::vector<std::uint32_t> offset;
  std::vector<std::uint32_t> nodes;
};

}  // namespace schedlab
