// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {

/// Critical path first: an idle stream takes the ready task with the longest path to an exit (its
/// b-level, or upward rank). At most (2 - 1/streams) times the optimum.
/// Cost: O((tasks + edges) log tasks). Ties: lower task id; the stream that has been idle longest.
/// Source: Hu, Operations Research 9(6), 1961, doi 10.1287/opre.9.6.841 (levels), as list
/// scheduling for any durations in Adam, Chandy, Dickson, CACM 17(12), 1974,
/// doi 10.1145/361604.361619 (HLFET).
class BottomLevel final : public PlacingPolicy {
 public:
  explicit BottomLevel(std::uint32_t max_streams = default_list_streams)
      : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "bottom_level"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
};

[[nodiscard]] PolicyInfo bottom_level_info();

}  // namespace schedlab
