// SPDX-License-Identifier: Apache-2.0
#include "studies/search/plan_scorer.hpp"

#include "hw_models/kernel_steps.hpp"
#include "policies/data_parallel.hpp"
#include "sim/plan/default_stream.hpp"
#include "studies/scenario/problem_bounds.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace schedlab {
namespace {

class PlanScorer {
 public:
  PlanScorer(const Scenario& scenario, const Scatter& scatter)
      : scenario_(scenario),
        scatter_(scatter),
        whole_(scenario.problem->planned == nullptr),
        as_it_is_(whole_ && !scenario.planned_ahead() && !scenario.legacy_default_stream) {}

  PlanOutcome run(const Plan& plan) {
    if (!as_it_is_) launched_ = as_launched(scenario_, plan);
    const Plan& launched = as_it_is_ ? plan : launched_;
    const SimulatedProblem nominal = scenario_.problem->simulated(&launched);
    run_by_kernel(simulator_, nominal.steps, nominal.problem, launched, {}, trace_);
    const bool by_caches = scenario_.problem->caches != nullptr;
    if (by_caches) converge_costs(nominal, launched);
    const Problem& problem = nominal.problem;
    const SimulatedProblem what{
        nominal.steps, {problem.graph, problem.platform, by_caches ? found_ : problem.costs}};
    const Duration makespan = scatter_.samples == 0 ? trace_.makespan() : scattered(what, launched);
    return {whole_ ? &trace_ : nullptr, makespan};
  }

 private:
  /// Leaves the run with the costs of what it finds in the caches, and these in found_.
  void converge_costs(const SimulatedProblem& what, const Plan& launched) {
    const Problem& nominal = what.problem;
    const auto run = [&](const CostTable& costs) -> const Trace& {
      const Problem problem{nominal.graph, nominal.platform, costs};
      run_by_kernel(simulator_, what.steps, problem, launched, {}, trace_);
      return trace_;
    };
    found_ = converge(*scenario_.problem->caches, nominal.costs, trace_, run);
  }

  Duration scattered(const SimulatedProblem& what, const Plan& launched) {
    const Variability& variability = scenario_.sampling->variability;
    const Problem& nominal = what.problem;
    times_.clear();
    for (std::uint64_t i = 0; i < scatter_.samples; ++i) {
      const Platform platform = vary_platform(variability, i, nominal.platform);
      vary_costs(variability, i, nominal.graph, nominal.platform, nominal.costs, varied_);
      const Problem varied{nominal.graph, platform, varied_};
      run_by_kernel(simulator_, what.steps, varied, launched, {}, sample_);
      times_.push_back(sample_.makespan());
    }
    return objective_of(times_, scatter_.objective);
  }

  const Scenario& scenario_;
  Scatter scatter_;
  bool whole_;
  bool as_it_is_;
  Simulator simulator_;
  Plan launched_;
  Trace trace_;
  Trace sample_;
  CostTable found_;
  CostTable varied_;
  std::vector<Duration> times_;
};

/// Of one draw of a problem.
Duration bound_of(const Scenario& scenario, const SimulatedProblem& what, std::uint64_t sample) {
  const Variability& variability = scenario.sampling->variability;
  const Problem& nominal = what.problem;
  const Platform platform = vary_platform(variability, sample, nominal.platform);
  CostTable costs;
  vary_costs(variability, sample, nominal.graph, nominal.platform, nominal.costs, costs);
  const BoundedProblem bounded{*scenario.problem->graph, what, scenario.launch};
  LowerBounds bounds = graph_lower_bounds({nominal.graph, platform, costs});
  // A repeated graph is one whose runs may overlap: what its ladder says is less, and holds.
  add_ladder(bounds, bounded.on(platform, costs));
  return bounds.largest();
}

}  // namespace

Duration objective_of(std::vector<Duration>& times, Objective objective) {
  const auto count = static_cast<std::int64_t>(times.size());
  if (objective == Objective::mean) {
    Duration sum{0};
    for (const Duration time : times) sum += time;
    return sum / count;
  }
  const std::int64_t within = (9 * count + 9) / 10;
  const auto place = times.begin() + (within - 1);
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

Plan as_launched(const Scenario& scenario, Plan plan) {
  const PreparedProblem& whole = *scenario.problem;
  const PreparedProblem& part = whole.part_to_plan();
  const TaskGraph& one_run = whole.divided != nullptr ? *whole.divided : *part.graph;
  if (whole.divided != nullptr) plan = data_parallel_plan(plan, one_run, whole.overlap);
  if (scenario.legacy_default_stream) use_legacy_default_stream(plan);
  if (!scenario.planned_ahead()) return plan;
  return launched_plan(std::move(plan), scenario.launch, one_run.task_count(), &one_run);
}

std::vector<Finding> findings_of(const Scenario& scenario, const Plan& plan) {
  const PreparedProblem& prepared = *scenario.problem;
  return check(prepared.problem().graph,
               prepared.problem().platform,
               as_launched(scenario, plan),
               {.check_memory = scenario.checks_memory});
}

PlanRun scored_as(const Scenario& scenario, const Scatter& scatter) {
  return [scorer = std::make_shared<PlanScorer>(scenario, scatter)](const Plan& plan) {
    return scorer->run(plan);
  };
}

Duration scattered_bound(const Scenario& scenario, const Scatter& scatter) {
  // A plan is simulated by whole tasks or by their kernels, which are drawn apart.
  const PreparedProblem& prepared = *scenario.problem;
  std::vector<Duration> bounds;
  for (std::uint64_t i = 0; i < scatter.samples; ++i) {
    Duration bound = bound_of(scenario, prepared.simulated(), i);
    if (prepared.steps != nullptr) {
      bound = std::min(bound, bound_of(scenario, {nullptr, prepared.problem()}, i));
    }
    bounds.push_back(bound);
  }
  return objective_of(bounds, scatter.objective);
}

}  // namespace schedlab
