// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {

/// Everything on one stream, in the graph's topological order: what a framework's default stream
/// does (system S1's "Py+CUDA"). No events, no overlap; the baseline that every other policy must
/// beat. Cost: O(tasks + edges). Ties: lower task id first, so plans are reproducible.
class SingleStream final : public PlacingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "single_stream"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::coarse; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;
};

[[nodiscard]] PolicyInfo single_stream_info();

}  // namespace schedlab
