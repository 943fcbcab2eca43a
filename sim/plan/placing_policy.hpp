// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan_builder.hpp"
#include "sim/plan/policy.hpp"

#include <string>

namespace schedlab {

/// A policy that places all tasks and leaves calls and events to the PlanBuilder. Whoever has made
/// a plan of an equal placement for the same graph need not make it again.
class PlacingPolicy : public Policy {
 public:
  /// With every task of the graph placed. Deterministic: equal problems give equal placements.
  [[nodiscard]] virtual PlanBuilder place(const Problem& problem) const = 0;
  /// The placement is the same whatever machine and costs are.
  [[nodiscard]] virtual bool places_by_graph() const { return false; }
  [[nodiscard]] Plan plan(const Problem& problem) const final {
    return place(problem).build(std::string{name()});
  }
};

}  // namespace schedlab
