// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {

/// An idle stream takes a ready task at random (a seeded rank per task): what a schedule is worth
/// that nobody thought about. Equal seeds give equal plans on every machine. Cost: O((tasks +
/// edges) log tasks). Ties: lower task id; the stream that has been idle longest. Source: list
/// scheduling of Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039.
class RandomOrder final : public PlacingPolicy {
 public:
  explicit RandomOrder(std::uint64_t seed, std::uint32_t max_streams = default_list_streams)
      : seed_(seed), max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "random"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint64_t seed_;
  std::uint32_t max_streams_;
};

[[nodiscard]] PolicyInfo random_order_info();

}  // namespace schedlab
