// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {

/// Everything on one stream, each layer's operation over all its tasks before the next one: of what
/// is ready, the task whose operation in its layer comes first in the graph. A layer's recurrent
/// chain runs through all steps, then its batched rest, then the next layer: weights are read while
/// they lie in the cache, where `single_stream` changes layers at every step. Cost: O(tasks log
/// tasks + edges). Ties: lower task id first.
/// Source: the order in which libraries run stacked layers without a wavefront (the first steps of
/// Appleyard, Kocisky, Blunsom, arXiv 1604.01946).
class LayerByLayer final : public PlacingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "layer_by_layer"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::fine; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;
};

[[nodiscard]] PolicyInfo layer_by_layer_info();

}  // namespace schedlab
