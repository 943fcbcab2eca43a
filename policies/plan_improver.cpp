// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/order_search.hpp"
#include "policies/plan_search.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/plan_check.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t late_steps = 40;  // of the history; assumed

}  // namespace

void LateAcceptance::restart(Duration makespan) {
  history_.assign(late_steps, makespan);
  next_ = 0;
  current_ = makespan;
}

bool LateAcceptance::accepts(Duration makespan) {
  Duration& before = history_[next_];
  next_ = (next_ + 1) % history_.size();
  const bool accepted = makespan <= before || makespan <= current_;
  if (accepted) current_ = makespan;
  before = std::min(before, current_);
  return accepted;
}

PlanImprover::PlanImprover(const Problem& problem,
                           std::span<const ScoredPlan> starts,
                           PlanRun run,
                           const PlanSearchOptions& options)
    : problem_(problem), run_(std::move(run)), options_(options), rng_(options.seed) {
  SCHEDLAB_EXPECTS(!starts.empty(), "a search without a plan to begin with");
  best_ = starts.front();
  for (const ScoredPlan& start : starts) {
    if (start.makespan < best_.makespan) best_ = start;
  }
}

bool PlanImprover::take(const ScoredPlan& plan) {
  if (plan.makespan >= best_.makespan) return false;
  best_ = plan;
  forget_progress();
  return true;
}

std::optional<PlanOutcome> PlanImprover::score(Plan plan) {
  ++evaluations_;
  try {
    const PlanOutcome outcome = run_(plan);
    if (outcome.makespan >= best_.makespan) return outcome;
    // Passes in another order may keep more activations.
    const bool fits =
        !problem_.graph.has_ranks() ||
        check(problem_.graph, problem_.platform, plan, {.check_memory = options_.checks_memory})
            .empty();
    if (!fits) return std::nullopt;
    best_ = {std::move(plan), outcome.makespan};
    improvements_.push_back({evaluations_, outcome.makespan});
    forget_progress();
    return outcome;
  } catch (const InfeasibleError&) {
    return std::nullopt;
  }
}

std::unique_ptr<PlanImprover> make_plan_search(const Problem& problem,
                                               std::span<const ScoredPlan> starts,
                                               PlanRun run,
                                               const PlanSearchOptions& options) {
  if (problem.graph.has_ranks()) {
    return std::make_unique<PipelineOrderSearch>(problem, starts, std::move(run), options);
  }
  return std::make_unique<PlanSearch>(problem, starts, std::move(run), options);
}

}  // namespace schedlab
