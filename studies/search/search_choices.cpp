// SPDX-License-Identifier: Apache-2.0
#include "studies/search/search_choices.hpp"

#include "policies/registry.hpp"
#include "policies/search.hpp"
#include "sim/base/error.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/plan/dispatching_policy.hpp"
#include "studies/scenario/problem_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t max_scenarios = 256;
constexpr LadderOptions thorough{
    .energetic_work = 4'000'000, .tightening_work = 200'000'000, .refutation_work = 2'000'000'000};
/// Of a refutation for each evaluation, so that few evaluations do not wait for bounds; assumed.
constexpr std::uint64_t refutation_work_per_evaluation = 10'000'000;

/// Keys of a workload that say how its work is cut, not what it is.
constexpr std::array<std::string_view, 10> ways_to_cut{"/workload/granularity",
                                                       "/workload/accumulation",
                                                       "/workload/accumulation_steps",
                                                       "/workload/last_accumulation_steps",
                                                       "/workload/partial_buffers",
                                                       "/workload/hidden_2_steps",
                                                       "/workload/hidden_1_slices",
                                                       "/workload/weight_units",
                                                       "/workload/k_major",
                                                       "/workload/split"};

bool may_be_chosen(std::string_view path) {
  return path.starts_with("/policy") || path.starts_with("/launch") ||
         std::find(ways_to_cut.begin(), ways_to_cut.end(), path) != ways_to_cut.end();
}

void expect_one_case(const Grid& grid, const std::string& spec_file) {
  if (grid.size() > max_scenarios) {
    throw InputError({.file = spec_file,
                      .pointer = {},
                      .found = fmt::format("{} scenarios", grid.size()),
                      .expected = fmt::format("one case with at most {} of them", max_scenarios),
                      .hint = "leave out some"});
  }
  for (const AxisColumn& axis : grid.axes()) {
    if (axis.values < 2 || may_be_chosen(axis.path)) continue;
    throw InputError({.file = spec_file,
                      .pointer = axis.path,
                      .found = "several values",
                      .expected = "one case: several policies, launch modes or ways to cut the "
                                  "workload (granularity, accumulation, split) may be chosen from",
                      .hint = "give this axis one value"});
  }
}

void expect_scatter(const Scenario& scenario, const Scatter& scatter) {
  if (scatter.samples == 0 || scenario.sampling) return;
  throw InputError(
      {.file = "--samples",
       .pointer = {},
       .found = fmt::format("{} samples of a machine that does not scatter", scatter.samples),
       .expected = "a spec with \"variability\"",
       .hint = "add it, or leave out --samples"});
}

void expect_plan_ahead(const Scenario& scenario,
                       const Problem& problem,
                       const std::string& spec_file) {
  const auto online = scenario.online(problem);
  if (dynamic_cast<const DispatchingPolicy*>(online.get()) == nullptr) return;
  throw InputError(
      {.file = spec_file,
       .pointer = "/policy/dispatch",
       .found = fmt::format("{} that decides while the run goes on", scenario.made_policy().name()),
       .expected = "policies that plan ahead, as a search does",
       .hint = "leave out dispatch, and simulate such a run beside the plan found"});
}

using ChoiceKey = std::tuple<Granularity, std::uint64_t, std::uint64_t>;
using Choices = std::map<ChoiceKey, SearchChoice>;

void add_plan(SearchChoice& choice, const PlanRun& run, Plan plan) {
  const Duration makespan = run(plan).makespan;
  choice.plans.push_back({std::move(plan), makespan});
}

Duration shortest(const std::vector<ScoredPlan>& plans) {
  return std::ranges::min(plans, {}, &ScoredPlan::makespan).makespan;
}

/// Of whatever ranks, runs and draws there are. None holds for all plans where what a task takes
/// depends on what caches hold.
void set_bounds(SearchChoice& choice, const Scatter& scatter, const BoundEffort& effort) {
  const PreparedProblem& prepared = *choice.scenario.problem;
  if (prepared.caches != nullptr) return;
  choice.bounds = prepared.bounds;
  if (prepared.planned == nullptr) {
    const BoundedProblem bounded{prepared, choice.scenario.launch};
    LadderOptions options = thorough;
    if (effort.enough) options.enough = &effort.enough;
    if (effort.evaluations != 0 &&
        effort.evaluations < options.refutation_work / refutation_work_per_evaluation) {
      options.refutation_work = effort.evaluations * refutation_work_per_evaluation;
    }
    if (scatter.samples == 0) options.shortest = shortest(choice.plans);
    choice.ladder = bound_ladder(bounded.problem(), options);
    set_ladder(choice.bounds, bounded.problem(), choice.ladder);
  }
  choice.target =
      scatter.samples == 0 ? choice.bounds.largest() : scattered_bound(choice.scenario, scatter);
}

/// The scenario's, with the plans of all policies if it is new.
SearchChoice& choice_of(const ScenarioSpace& space,
                        const Scenario& scenario,
                        const Scatter& scatter,
                        const BoundEffort& effort,
                        Choices& choices) {
  // Where the workload has its granularity, those of the policies make no difference.
  const std::uint64_t workload = scenario.part(Part::workload);
  const bool open = space.components().follows_policy(workload);
  const auto [place, is_new] = choices.try_emplace(
      {open ? scenario.granularity : Granularity::fine, workload, scenario.part(Part::launch)});
  SearchChoice& choice = place->second;
  if (!is_new) return choice;
  choice.scenario = scenario;
  choice.plans = plans_of_policies(scenario.problem->part_to_plan().problem(),
                                   scored_as(choice.scenario, scatter));
  set_bounds(choice, scatter, effort);
  return choice;
}

/// Those at which no policy of the spec plans a workload that leaves open how finely it is cut.
void add_granularities(ScenarioSpace& space,
                       const Scatter& scatter,
                       const StopFlag* stop,
                       const BoundEffort& effort,
                       Choices& choices) {
  for (std::uint64_t number = 0; number < space.grid().size(); ++number) {
    if (!space.components().follows_policy(space.grid().part_index(number, Part::workload)))
      continue;
    for (const Granularity granularity : all_granularities) {
      try {
        (void)choice_of(space,
                        space.scenario(number, {.granularity = granularity}, stop),
                        scatter,
                        effort,
                        choices);
      } catch (const InputError&) {
        // The workload cannot be cut so.
      } catch (const InfeasibleError&) {
        // It does not fit so.
      }
    }
  }
}

/// `name`: whose plan it is, for messages.
void add_start_plan(const std::string& name,
                    const std::function<Plan(const Problem&)>& plan_for,
                    const Scatter& scatter,
                    Choices& choices) {
  std::optional<InputError> refused;
  bool added = false;
  for (auto& [key, choice] : choices) {
    const Problem problem = choice.scenario.problem->part_to_plan().problem();
    try {
      Plan plan = plan_for(problem);
      if (plan.task_count() != problem.graph.task_count()) continue;
      const auto findings = findings_of(choice.scenario, plan);
      if (!findings.empty()) {
        throw InputError(
            {.file = name,
             .pointer = {},
             .found = fmt::format("a plan that the plan checker has {} findings of: {}",
                                  findings.size(),
                                  findings.front().message),
             .expected = "a plan for the workload and machine of the spec",
             .hint = "search without it"});
      }
      add_plan(choice, scored_as(choice.scenario, scatter), std::move(plan));
      added = true;
    } catch (const InputError& error) {
      refused = error;
    }
  }
  if (added) return;
  if (refused) throw InputError{*refused};
  throw InputError({.file = name,
                    .pointer = {},
                    .found = "a plan of another number of tasks",
                    .expected = "a plan for the workload of the spec",
                    .hint = "search without it"});
}

}  // namespace

std::vector<SearchChoice> search_choices(ScenarioSpace& space,
                                         const std::string& spec_file,
                                         const SearchStart& start,
                                         const Scatter& scatter,
                                         const StopFlag* stop,
                                         const BoundEffort& effort) {
  expect_one_case(space.grid(), spec_file);
  Choices found;
  for (std::uint64_t number = 0; number < space.grid().size(); ++number) {
    const Scenario scenario = space.scenario(number, {}, stop);
    expect_scatter(scenario, scatter);
    const Problem planned = scenario.problem->part_to_plan().problem();
    expect_plan_ahead(scenario, planned, spec_file);
    SearchChoice& choice = choice_of(space, scenario, scatter, effort, found);
    add_plan(choice, scored_as(choice.scenario, scatter), scenario.made_policy().plan(planned));
  }
  add_granularities(space, scatter, stop, effort, found);
  if (!start.file.empty()) {
    const auto policy = make_policy("plan_file", {{"path", start.file}});
    const auto plan = [&](const Problem& problem) { return policy->plan(problem); };
    add_start_plan(start.file, plan, scatter, found);
  }
  if (start.plan) {
    add_start_plan(
        "start", [&](const Problem&) { return *start.plan; }, scatter, found);
  }
  std::vector<SearchChoice> choices;
  for (auto& [key, choice] : found) {
    std::stable_sort(
        choice.plans.begin(), choice.plans.end(), [](const ScoredPlan& a, const ScoredPlan& b) {
          return a.makespan < b.makespan;
        });
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace schedlab
