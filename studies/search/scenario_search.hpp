// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/bounds/witness.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// When a search ends; at least one of the first two must be set.
struct SearchLimits {
  double seconds = 0;             ///< of the wall; 0: no limit
  std::uint64_t evaluations = 0;  ///< of all islands; 0: no limit
  double gap = 0;                 ///< over the certified bound, as a share
};

struct SearchSettings {
  SearchLimits limits;
  std::uint64_t seed = 1;
  std::uint32_t max_streams = 32;
  std::uint32_t islands = 1;  ///< searches on a thread each; they exchange plans
  std::string begin{};        ///< a plan file to begin with besides; empty: none
  const StopFlag* stop = nullptr;
};

/// What a search of one case found.
struct FoundSchedule {
  Scenario scenario;  ///< with the granularity that the plan is for
  Plan plan;          ///< before its capture into device graphs, if the launch mode does that
  Duration makespan{0};
  std::string begun_with;            ///< the best policy of the beginning ...
  Duration begun_at{0};              ///< ... and its makespan
  std::vector<BoundWitness> bounds;  ///< the ladder of that granularity
  LowerBounds case_bounds;           ///< hold at every granularity that was begun with
  std::uint64_t evaluations = 0;
  double seconds = 0;
  std::vector<Improvement> improvements{};

  /// Over the bound of the case, 1: proven optimal. 0 without a bound.
  [[nodiscard]] double gap() const;
  [[nodiscard]] bool proven_optimal() const;
};

/// Searches the one case of a spec: all its scenarios, which may differ in their policy alone. Of
/// the granularities that they bring that is searched whose best plan of a policy is the shortest.
/// Without a limit in seconds the result depends on the spec and the settings alone.
/// Throws InputError for several cases, InfeasibleError for ranks, several runs and copied inputs,
/// Interrupted only before there is a plan.
[[nodiscard]] FoundSchedule search_case(ScenarioSpace& space,
                                        const std::string& spec_file,
                                        const SearchSettings& settings);

/// The plan as the scenario launches it.
[[nodiscard]] Plan as_launched(const Scenario& scenario, Plan plan);

}  // namespace schedlab
