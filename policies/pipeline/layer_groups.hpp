// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/partitioner.hpp"
#include "sim/graph/components.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::detail {

/// Layers that have to be on one stage as one vertex of an acyclic graph.
struct LayerGroups {
  static constexpr std::uint32_t none = UINT32_MAX;

  IdVector<LayerId, std::uint32_t> group_of;  ///< none: free, goes where it is first read
  std::size_t count = 0;
  std::vector<Edge> edges;  ///< between groups, from lower to higher numbers; each once

  /// The stage of every layer from that of every group: free layers join their first reader.
  [[nodiscard]] IdVector<LayerId, std::uint32_t> spread(
      const LayerGraph& graph, const std::vector<std::uint32_t>& stage_of_group) const;
};

/// Which layers without time go with another one.
enum class MergeUntimed : std::uint8_t {
  none,
  /// Where no partition has a lower load for keeping them apart: what has no readers, or what alone
  /// reads its input and has no larger transfer, with that; what reads nothing, with its only
  /// reader. Memory may move with them.
  harmless,
  all,  ///< with the only layer they read
};

/// Strongly connected layers, those that the request puts together, and layers without time as
/// `untimed` says. Layers that cost nothing and read nothing that does are free.
[[nodiscard]] LayerGroups group_layers(const LayerGraph& graph,
                                       const IdVector<LayerId, LayerTimes>& times,
                                       const PartitionRequest& request,
                                       MergeUntimed untimed);

}  // namespace schedlab::detail
