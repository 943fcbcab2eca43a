// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {

/// HEFT: highest upward rank first, each task on the stream that finishes it earliest.
/// Cost: O(tasks * streams + edges). Ties: lower task id, then lower stream id, so plans are
/// reproducible. Source: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, doi 10.1109/71.993206;
/// without insertion into gaps, since a stream is a FIFO that no later task can overtake. Transfers
/// are tasks of the graph.
class Heft final : public PlacingPolicy {
 public:
  explicit Heft(std::uint32_t max_streams = default_list_streams) : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "heft"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
};

[[nodiscard]] PolicyInfo heft_info();

}  // namespace schedlab
