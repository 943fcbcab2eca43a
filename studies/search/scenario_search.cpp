// SPDX-License-Identifier: Apache-2.0
#include "studies/search/scenario_search.hpp"

#include "hw_models/kernel_steps.hpp"
#include "policies/registry.hpp"
#include "policies/search.hpp"
#include "sim/base/error.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/plan/default_stream.hpp"
#include "studies/scenario/problem_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t max_starts = 256;             // scenarios of the spec
constexpr std::size_t window_work = 4'000'000;        // of energetic bounds
constexpr std::uint64_t island_step_tasks = 400'000;  // tasks simulated between two exchanges

class WallClock {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// Plans as the scenario runs them.
class Evaluator {
 public:
  explicit Evaluator(const Scenario& scenario) : scenario_(scenario) {}

  const Trace& run(const Plan& plan) {
    const bool as_it_is = !captures(scenario_.launch.mode) && !scenario_.legacy_default_stream;
    if (!as_it_is) launched_ = as_launched(scenario_, plan);
    const Plan& launched = as_it_is ? plan : launched_;
    const SimulatedProblem what = scenario_.problem->simulated(&launched);
    run_by_kernel(simulator_, what.steps, what.problem, launched, {}, trace_);
    return trace_;
  }

 private:
  const Scenario& scenario_;
  Simulator simulator_;
  Plan launched_;
  Trace trace_;
};

PlanRun runs_on(const Scenario& scenario) {
  return [evaluator = std::make_shared<Evaluator>(scenario)](const Plan& plan) -> const Trace& {
    return evaluator->run(plan);
  };
}

/// The spec's scenarios that have one granularity.
struct Beginning {
  Scenario scenario;
  std::vector<ScoredPlan> plans;  ///< shortest first
};

void expect_one_case(const ScenarioSpace& space, const std::string& spec_file) {
  const Grid& grid = space.grid();
  if (grid.size() > max_starts) {
    throw InputError({.file = spec_file,
                      .pointer = {},
                      .found = fmt::format("{} scenarios", grid.size()),
                      .expected = fmt::format("one case with at most {} policies", max_starts),
                      .hint = "leave out some"});
  }
  for (std::uint64_t number = 1; number < grid.size(); ++number) {
    for (std::size_t i = 0; i < part_count; ++i) {
      const Part part = static_cast<Part>(i);
      if (part == Part::policy || grid.part_index(number, part) == grid.part_index(0, part)) {
        continue;
      }
      throw InputError({.file = spec_file,
                        .pointer = fmt::format("/{}", to_string(part)),
                        .found = "several values",
                        .expected = "one case: only policies may be several",
                        .hint = "give each other axis one value"});
    }
  }
}

void expect_searchable(const Scenario& scenario) {
  if (scenario.problem->planned == nullptr && !scenario.problem->graph->has_ranks()) return;
  throw InfeasibleError(
      "a search plans one run on one device\n  leave out ranks, runs, tensor_parallel and copied "
      "inputs");
}

void add_plan(Beginning& beginning, const PlanRun& run, Plan plan) {
  const Duration makespan = run(plan).makespan();
  beginning.plans.push_back({std::move(plan), makespan});
}

/// It is for one of the granularities, by the names of its tasks.
void add_plan_of_file(const std::string& file, std::map<Granularity, Beginning>& beginnings) {
  const auto policy = make_policy("plan_file", {{"path", file}});
  std::optional<InputError> refused;
  for (auto& [granularity, beginning] : beginnings) {
    const Problem problem = beginning.scenario.problem->problem();
    try {
      Plan plan = policy->plan(problem);
      if (plan.task_count() != problem.graph.task_count()) continue;
      add_plan(beginning, runs_on(beginning.scenario), std::move(plan));
      return;
    } catch (const InputError& error) {
      refused = error;
    }
  }
  if (refused) throw InputError{*refused};
  throw InputError({.file = file,
                    .pointer = {},
                    .found = "a plan of another number of tasks",
                    .expected = "a plan for the workload of the spec",
                    .hint = "search without --resume"});
}

std::map<Granularity, Beginning> beginnings(ScenarioSpace& space, const SearchSettings& settings) {
  std::map<Granularity, Beginning> found;
  for (std::uint64_t number = 0; number < space.grid().size(); ++number) {
    Scenario scenario = space.scenario(number, {}, settings.stop);
    expect_searchable(scenario);
    const auto [place, is_new] = found.try_emplace(scenario.granularity);
    Beginning& beginning = place->second;
    if (is_new) {
      beginning.scenario = scenario;
      const PlanRun run = runs_on(beginning.scenario);
      beginning.plans = plans_of_policies(scenario.problem->problem(), run);
    }
    const PlanRun run = runs_on(beginning.scenario);
    add_plan(beginning, run, scenario.made_policy().plan(scenario.problem->problem()));
  }
  if (!settings.begin.empty()) add_plan_of_file(settings.begin, found);
  for (auto& [granularity, beginning] : found) {
    std::stable_sort(
        beginning.plans.begin(),
        beginning.plans.end(),
        [](const ScoredPlan& a, const ScoredPlan& b) { return a.makespan < b.makespan; });
  }
  return found;
}

/// Searches side by side, which go on from the best plan of all after each step. What each does in
/// a step depends on nothing else, so the result does not depend on the threads.
class Islands {
 public:
  Islands(const Beginning& beginning, const SearchSettings& settings, Duration target)
      : settings_(settings),
        step_(std::max<std::uint64_t>(
            16, island_step_tasks / (1 + beginning.scenario.problem->graph->task_count()))) {
    for (std::uint32_t i = 0; i < settings.islands; ++i) {
      islands_.push_back(std::make_unique<PlanSearch>(
          beginning.scenario.problem->problem(),
          beginning.plans,
          runs_on(beginning.scenario),
          PlanSearchOptions{
              .seed = settings.seed + i, .max_streams = settings.max_streams, .target = target}));
    }
  }

  void search(const WallClock& clock) {
    const SearchLimits& limits = settings_.limits;
    while (!best().reached() && !stop_requested(settings_.stop)) {
      if (limits.seconds > 0 && clock.seconds() >= limits.seconds) break;
      std::uint64_t step = step_;
      if (limits.evaluations != 0) {
        if (evaluations() >= limits.evaluations) break;
        const std::uint64_t left = limits.evaluations - evaluations();
        step = std::min(step, (left + islands_.size() - 1) / islands_.size());
      }
      advance(step);
      const ScoredPlan found = best().best();
      const std::uint64_t at = evaluations();
      if (improvements_.empty() || found.makespan < improvements_.back().makespan) {
        improvements_.push_back({at, found.makespan});
      }
      for (const auto& island : islands_) island->offer(found);
    }
  }

  [[nodiscard]] const PlanSearch& best() const {
    return **std::min_element(islands_.begin(), islands_.end(), [](const auto& a, const auto& b) {
      return a->best().makespan < b->best().makespan;
    });
  }
  [[nodiscard]] std::uint64_t evaluations() const {
    std::uint64_t sum = 0;
    for (const auto& island : islands_) sum += island->evaluations();
    return sum;
  }
  [[nodiscard]] const std::vector<Improvement>& improvements() const { return improvements_; }

 private:
  void advance(std::uint64_t step) {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < islands_.size(); ++i) {
      threads.emplace_back([&, i] { islands_[i]->advance(step); });
    }
    islands_.front()->advance(step);
    for (std::thread& thread : threads) thread.join();
  }

  const SearchSettings& settings_;
  std::uint64_t step_;
  std::vector<std::unique_ptr<PlanSearch>> islands_;
  std::vector<Improvement> improvements_;
};

}  // namespace

double FoundSchedule::gap() const {
  const Duration bound = case_bounds.largest();
  return bound > Duration{0} ? to_us(makespan) / to_us(bound) : 0.0;
}

bool FoundSchedule::proven_optimal() const {
  return case_bounds.largest() > Duration{0} && makespan <= case_bounds.largest();
}

Plan as_launched(const Scenario& scenario, Plan plan) {
  if (scenario.legacy_default_stream) use_legacy_default_stream(plan);
  if (!scenario.planned_ahead()) return plan;
  const TaskGraph& graph = *scenario.problem->graph;
  return launched_plan(std::move(plan), scenario.launch, graph.task_count(), &graph);
}

FoundSchedule search_case(ScenarioSpace& space,
                          const std::string& spec_file,
                          const SearchSettings& settings) {
  expect_one_case(space, spec_file);
  const WallClock clock;
  const auto all = beginnings(space, settings);
  const auto best = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.plans.front().makespan < b.second.plans.front().makespan;
  });
  FoundSchedule found;
  found.scenario = best->second.scenario;
  found.begun_with = best->second.plans.front().plan.policy;
  found.begun_at = best->second.plans.front().makespan;
  for (const auto& [granularity, beginning] : all) {
    const PreparedProblem& prepared = *beginning.scenario.problem;
    const BoundedProblem bounded{prepared, beginning.scenario.launch.mode};
    auto ladder = bound_ladder(bounded.problem(), {.energetic_work = window_work});
    LowerBounds bounds = prepared.bounds;
    set_ladder(bounds, bounded.problem(), ladder);
    const bool first = found.case_bounds.largest() == Duration{0};
    if (first || bounds.largest() < found.case_bounds.largest()) found.case_bounds = bounds;
    if (granularity == best->first) found.bounds = std::move(ladder);
  }
  const double wanted = to_us(found.case_bounds.largest()) * (1 + settings.limits.gap);
  Islands islands{best->second, settings, std::max(found.case_bounds.largest(), from_us(wanted))};
  islands.search(clock);
  found.plan = islands.best().best().plan;
  found.makespan = islands.best().best().makespan;
  found.evaluations = islands.evaluations();
  found.improvements = islands.improvements();
  found.seconds = clock.seconds();
  return found;
}

}  // namespace schedlab
