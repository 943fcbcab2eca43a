// SPDX-License-Identifier: Apache-2.0
#include "policies/search.hpp"

#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/engine/simulator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view search_name = "search";

/// The best plan that a local search finds, beginning with the plans of all other policies; over as
/// soon as a lower bound is reached. Scored on the problem's machine by whole tasks. Cost: the
/// evaluations, each the making and simulation of a plan.
class Search final : public Policy {
 public:
  Search(std::uint64_t evaluations, PlanSearchOptions options)
      : evaluations_(evaluations), options_(options) {}
  [[nodiscard]] std::string_view name() const override { return search_name; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::uint64_t evaluations_;
  PlanSearchOptions options_;
};

Plan Search::plan(const Problem& problem) const {
  Simulator simulator;
  Trace trace;
  const PlanRun run = [&](const Plan& plan) -> PlanOutcome {
    simulator.run_into(problem, plan, {}, trace);
    return {&trace, trace.makespan()};
  };
  const auto starts = plans_of_policies(problem, run);
  PlanSearchOptions options = options_;
  const auto ladder = bound_ladder({.problem = problem});
  if (!ladder.empty()) options.target = largest(ladder).bound;
  const auto search = make_plan_search(problem, starts, run, options);
  search->advance(evaluations_);
  Plan found = search->best().plan;
  found.policy = search_name;
  return found;
}

}  // namespace

std::vector<ScoredPlan> plans_of_policies(const Problem& problem, const PlanRun& run) {
  std::vector<ScoredPlan> plans;
  for (const PolicyInfo& info : policies()) {
    if (info.for_ranks != problem.graph.has_ranks() || info.ready_made || info.name == search_name)
      continue;
    try {
      Plan plan = make_policy(info.name)->plan(problem);
      const Duration makespan = run(plan).makespan;
      plans.push_back({std::move(plan), makespan});
    } catch (const std::runtime_error&) {
      // It cannot plan this graph.
    } catch (const ContractViolation&) {
      // Nor this one.
    }
  }
  SCHEDLAB_EXPECTS(!plans.empty(), "no policy can plan the graph");
  std::stable_sort(plans.begin(), plans.end(), [](const ScoredPlan& a, const ScoredPlan& b) {
    return a.makespan < b.makespan;
  });
  return plans;
}

PolicyInfo search_info() {
  return {
      .name = "search",
      .summary = "The best plan that a local search from the plans of all other policies finds.",
      .source =
          "this project; late acceptance: Burke, Bykov, EJOR 258(1), 2017, "
          "doi 10.1016/j.ejor.2016.07.012",
      .options = {{.name = "evaluations",
                   .default_value = std::int64_t{2000},
                   .doc = "Plans that are simulated.",
                   .minimum = 0,
                   .maximum = 1e9},
                  {.name = "seed",
                   .default_value = std::int64_t{1},
                   .doc = "Seed of the moves.",
                   .minimum = 0},
                  max_streams_option(max_default_streams, "Most streams that a move opens.")},
      .make = [](const Options& options) {
        return std::make_unique<Search>(
            static_cast<std::uint64_t>(options.integer("evaluations")),
            PlanSearchOptions{.seed = static_cast<std::uint64_t>(options.integer("seed")),
                              .max_streams = std::max(1U, count_of(options, "max_streams"))});
      }};
}

}  // namespace schedlab
