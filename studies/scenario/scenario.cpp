// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/default_stream.hpp"
#include "sim/plan/dispatching_policy.hpp"

#include <utility>

namespace schedlab {

std::unique_ptr<OnlinePolicy> Scenario::online(const Problem& on) const {
  auto online = made_policy().online(on);
  if (dynamic_cast<const DispatchingPolicy*>(online.get()) != nullptr) {
    if (planned_ahead() || legacy_default_stream || problem->divided != nullptr) {
      throw InfeasibleError(
          "\"dispatch\": \"dynamic\" decides while one run on one device goes on\n  use "
          "\"launch\": "
          "\"eager\" without options and leave out ranks and default_stream, or \"dispatch\": "
          "\"static\"");
    }
    return online;
  }
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
