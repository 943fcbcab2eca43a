// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario.hpp"

#include "sim/plan/default_stream.hpp"

#include <utility>

namespace schedlab {

std::unique_ptr<OnlinePolicy> Scenario::online(const Problem& on) const {
  auto online = made_policy().online(on);
  if (online == nullptr || !legacy_default_stream) return online;
  return with_legacy_default_stream(std::move(online));
}

Problem FullRun::problem() const {
  const PreparedProblem& made = *scenario.problem;
  if (converged == nullptr) return made.problem();
  return {*made.graph, made.machine->platform, converged->tasks};
}

SimulatedProblem FullRun::simulated(const Plan* plan_or_none) const {
  const SimulatedProblem nominal = scenario.problem->simulated(plan_or_none);
  if (converged == nullptr) return nominal;
  return {nominal.steps, {nominal.problem.graph, nominal.problem.platform, converged->simulated}};
}

}  // namespace schedlab
