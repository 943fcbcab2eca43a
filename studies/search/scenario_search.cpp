// SPDX-License-Identifier: Apache-2.0
#include "studies/search/scenario_search.hpp"

#include "studies/search/search_choices.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

bool has_shorter_plan(const SearchChoice& a, const SearchChoice& b) {
  return a.plans.front().makespan < b.plans.front().makespan;
}

}  // namespace

double FoundSchedule::gap() const {
  const Duration bound = case_bounds.largest();
  return bound > Duration{0} ? to_us(makespan) / to_us(bound) : 0.0;
}

bool FoundSchedule::proven_optimal() const {
  return case_bounds.largest() > Duration{0} && makespan <= case_bounds.largest();
}

FoundSchedule search_case(ScenarioSpace& space,
                          const std::string& spec_file,
                          const SearchSettings& settings) {
  const WallClock clock;
  // At most half of the time goes into bounds. Ranks must find the same ones, whatever the time.
  const double limit = settings.link == nullptr ? settings.limits.seconds / 2 : 0;
  const auto enough = [&] {
    return stop_requested(settings.stop) || (limit > 0 && clock.seconds() > limit);
  };
  const auto choices =
      search_choices(space,
                     spec_file,
                     settings.start,
                     settings.scatter,
                     settings.stop,
                     {.enough = enough, .evaluations = settings.limits.evaluations});
  Islands islands{choices, settings};
  islands.search(clock);
  const SearchChoice& chosen = choices[islands.choice()];
  const SearchChoice& begun = *std::min_element(choices.begin(), choices.end(), has_shorter_plan);
  FoundSchedule found;
  found.scenario = chosen.scenario;
  found.granularity = space.components().granularity(found.scenario.part(Part::workload),
                                                     found.scenario.granularity);
  found.choices = choices.size();
  found.plan = islands.best().plan;
  found.makespan = scored_as(chosen.scenario)(found.plan).makespan;
  found.begun_with = begun.plans.front().plan.policy;
  found.begun_at = scored_as(begun.scenario)(begun.plans.front().plan).makespan;
  found.bounds = chosen.ladder;
  found.case_bounds =
      std::min_element(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
        return a.bounds.largest() < b.bounds.largest();
      })->bounds;
  if (settings.scatter.samples != 0) {
    found.scattered = {
        .objective = settings.scatter.objective,
        .samples = settings.scatter.samples,
        .found = islands.best().makespan,
        .policy = begun.plans.front().makespan,
        .bound = std::min_element(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
                   return a.target < b.target;
                 })->target};
  }
  found.evaluations = islands.evaluations();
  found.improvements = islands.improvements();
  found.seconds = clock.seconds();
  return found;
}

}  // namespace schedlab
