// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"
#include "sim/bounds/witness.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/search/islands.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// A plan's objective over the draws of a machine that scatters, against that of others.
struct ScatteredTimes {
  Objective objective = Objective::mean;
  std::uint64_t samples = 0;
  Duration found{0};
  Duration policy{0};  ///< of the best policy of the beginning
  Duration bound{0};   ///< no plan has less on these draws
};

/// What a search of one case found.
struct FoundSchedule {
  Scenario scenario;        ///< the choice that the plan is for
  std::string granularity;  ///< of its workload; empty: that has none
  std::size_t choices = 1;  ///< of granularity, accumulation, slices and launch mode
  Plan plan;                ///< before its capture into device graphs, if the launch mode does that
  Duration makespan{0};     ///< nominal
  std::string begun_with;   ///< the best policy of the beginning ...
  Duration begun_at{0};     ///< ... and its nominal makespan
  std::vector<BoundWitness> bounds;  ///< the ladder of that choice
  LowerBounds case_bounds;           ///< hold for every choice
  std::optional<ScatteredTimes> scattered{};
  std::uint64_t evaluations = 0;
  double seconds = 0;
  std::vector<Improvement> improvements{};  ///< of what is made small; the first is the beginning

  /// Over the bound of the case, 1: proven optimal. 0 without a bound.
  [[nodiscard]] double gap() const;
  [[nodiscard]] bool proven_optimal() const;
};

/// Searches the one case of a spec (search_choices()). Without a limit in seconds the result
/// depends on the spec, the settings and the number of ranks alone; equal on all ranks.
/// Throws what search_choices() throws.
[[nodiscard]] FoundSchedule search_case(ScenarioSpace& space,
                                        const std::string& spec_file,
                                        const SearchSettings& settings);

}  // namespace schedlab
