// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/bounds/witness.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/search/plan_scorer.hpp"

#include <functional>
#include <optional>
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

/// A plan to begin with besides, of a file or in memory; neither: none.
struct SearchStart {
  std::string file{};
  std::optional<Plan> plan{};
};

/// How much may go into bounds.
struct BoundEffort {
  /// True once no more time is to go into them, which are then the best so far; empty: never.
  std::function<bool()> enough{};
  std::uint64_t evaluations = 0;  ///< of the search: few get little work; 0: no limit
};

/// All that the scenarios of a spec leave to choose: policies, which only are where to begin, the
/// launch mode, and of the workload accumulation, slices of the batch and granularity: where the
/// workload leaves that open, every one that it can be cut at.
/// The plan of `start` is for the choices of whose tasks the plan checker has no finding. Never
/// empty. Throws InputError for several values of anything else, for more than 256 scenarios and
/// for a plan that suits no choice, Interrupted when asked to stop.
[[nodiscard]] std::vector<SearchChoice> search_choices(ScenarioSpace& space,
                                                       const std::string& spec_file,
                                                       const SearchStart& start,
                                                       const Scatter& scatter,
                                                       const StopFlag* stop,
                                                       const BoundEffort& effort);

}  // namespace schedlab
