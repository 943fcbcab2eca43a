// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/bounds/witness.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/search/plan_scorer.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// One way to cut the workload and to launch it, with what it begins with and what no plan beats.
struct SearchChoice {
  Scenario scenario;
  std::vector<ScoredPlan> plans;     ///< shortest first, at least one
  std::vector<BoundWitness> ladder;  ///< empty for ranks and several runs: bounds of one run
  LowerBounds bounds;
  Duration target{0};  ///< no plan's makespan, or its objective on a machine that scatters, is less
};

/// All that the scenarios of a spec leave to choose: policies, which only are where to begin, the
/// launch mode, and of the workload granularity, accumulation and slices of the batch.
/// `begin`: a plan file to begin with besides; empty: none. Never empty.
/// Throws InputError for several values of anything else and for more than 256 scenarios,
/// Interrupted when asked to stop.
[[nodiscard]] std::vector<SearchChoice> search_choices(ScenarioSpace& space,
                                                       const std::string& spec_file,
                                                       const std::string& begin,
                                                       const Scatter& scatter,
                                                       const StopFlag* stop);

}  // namespace schedlab
