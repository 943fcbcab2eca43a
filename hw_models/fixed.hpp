// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"

namespace schedlab {

/// Theory: durations are given, not estimated.
///
///   duration = the same for every operation if set, else the operation's own fixed duration
///   share    = as set, at most units_per_kernel; with the grid of a single kernel: its units over
///   all blocks   those of the grid, as many to a unit as can reside there
///
/// Valid for: graphs with durations (unit-cost grids, task graph sets). An operation with kernels
/// and without a duration is an InfeasibleError that names it.
class FixedCost final : public CostModel {
 public:
  /// `duration` 0 = each operation's own.
  explicit FixedCost(Duration duration = Duration{0}, double share = 1.0)
      : duration_(duration), share_(share) {}

  [[nodiscard]] std::string_view name() const override { return "fixed"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;

 private:
  Duration duration_;
  double share_;
};

}  // namespace schedlab
