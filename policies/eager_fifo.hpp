// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {

/// Tasks in the order in which they become ready, each to the first idle stream: a run-time
/// system's central queue without priorities. Knows no durations beyond those that have passed.
/// Cost: O((tasks + edges) log tasks). Ties: lower task id; the stream that has been idle longest.
/// Source: list scheduling of Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039, with
/// the list in order of arrival (the "eager" scheduler of StarPU).
class EagerFifo final : public PlacingPolicy {
 public:
  explicit EagerFifo(std::uint32_t max_streams = default_list_streams)
      : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "eager_fifo"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
};

[[nodiscard]] PolicyInfo eager_fifo_info();

}  // namespace schedlab
