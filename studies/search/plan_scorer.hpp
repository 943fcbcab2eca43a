// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"
#include "studies/scenario/scenario.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// What a search makes small on a machine that scatters.
enum class Objective : std::uint8_t {
  mean,  ///< of the makespans of all samples
  p90,   ///< the least that nine of ten samples do not exceed
};
template <>
struct EnumNames<Objective> {
  static constexpr auto names = name_list("mean", "p90");
};
/// `times` of the samples, at least one; reorders them. Monotone in each.
[[nodiscard]] Duration objective_of(std::vector<Duration>& times, Objective objective);

/// How often a machine that scatters is drawn for each plan; 0: its nominal makespan counts.
struct Scatter {
  std::uint64_t samples = 0;
  Objective objective = Objective::mean;
};

/// The plan as the scenario launches it: copied to all ranks, captured, repeated.
[[nodiscard]] Plan as_launched(const Scenario& scenario, Plan plan);

/// What the plan checker finds in the plan as it is launched.
[[nodiscard]] std::vector<Finding> findings_of(const Scenario& scenario, const Plan& plan);

/// Runs plans as a scenario does, on one thread at a time; copies share their memory. The outcome's
/// makespan is the objective where there are samples: all plans meet the same draws. Cost  of a
/// plan: 1 + samples runs. Shapes  `scenario` must outlive it and have a variability if there are
/// samples.
[[nodiscard]] PlanRun scored_as(const Scenario& scenario, const Scatter& scatter = {});

/// No plan has a smaller objective on the same draws: that of the draws' bounds. `scatter.samples`
/// above 0.
[[nodiscard]] Duration scattered_bound(const Scenario& scenario, const Scatter& scatter);

}  // namespace schedlab
