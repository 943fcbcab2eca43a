// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"

#include <compare>
#include <cstdint>

namespace schedlab {

/// On whose behalf a call was made, as the 64 bits that a profiler passes through: a task of the
/// plan, a launch of one of its device graphs, or a node while the graph is made.
class WorkId {
 public:
  enum class Kind : std::uint8_t { none, task, graph_launch, graph_node };

  constexpr WorkId() = default;
  [[nodiscard]] static constexpr WorkId task(TaskId task) {
    return WorkId{Kind::task, 0, task.value()};
  }
  /// `graph`: its place in Plan::graphs, below 2^30; `launch` counts its launches from 0.
  [[nodiscard]] static constexpr WorkId graph_launch(std::uint32_t graph, std::uint32_t launch) {
    return WorkId{Kind::graph_launch, graph, launch};
  }
  [[nodiscard]] static constexpr WorkId graph_node(std::uint32_t graph, std::uint32_t node) {
    return WorkId{Kind::graph_node, graph, node};
  }
  [[nodiscard]] static constexpr WorkId from_bits(std::uint64_t bits) {
    WorkId id;
    id.bits_ = bits;
    return id;
  }

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(bits_ >> 62U); }
  [[nodiscard]] constexpr TaskId task() const { return TaskId{index()}; }
  [[nodiscard]] constexpr std::uint32_t graph() const {
    return static_cast<std::uint32_t>(bits_ >> 32U) & graph_mask;
  }
  /// Index of the task, the launch or the node.
  [[nodiscard]] constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(bits_); }
  friend constexpr auto operator<=>(WorkId, WorkId) = default;

 private:
  static constexpr std::uint32_t graph_mask = 0x3FFFFFFFU;
  constexpr WorkId(Kind kind, std::uint32_t graph, std::uint32_t index)
      : bits_((static_cast<std::uint64_t>(kind) << 62U) |
              (static_cast<std::uint64_t>(graph & graph_mask) << 32U) | index) {}

  std::uint64_t bits_ = 0;
};

}  // namespace schedlab
