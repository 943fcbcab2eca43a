// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/synchronized_end.hpp"

#include "sim/engine/simulator.hpp"
#include "sim/plan/final_synchronization.hpp"

#include <memory>

namespace schedlab {

void end_with_synchronization(PredictedScenario& predicted, const StopFlag* stop) {
  if (predicted.run == nullptr) return;
  auto run = std::make_shared<FullRun>(*predicted.run);
  synchronize_at_end(run->plan);
  Simulator simulator;
  const SimulatedProblem what = run->scenario.problem->simulated(&run->plan);
  run_by_kernel(
      simulator,
      what.steps,
      what.problem,
      run->plan,
      {.engine = EngineKind::automatic, .record_hosts = true, .record_flows = true, .stop = stop},
      run->trace);
  const double more_us = to_us(run->trace.makespan() - predicted.run->trace.makespan());
  for (double& draw : predicted.draws_us) draw += more_us;
  predicted.run = std::move(run);
}

}  // namespace schedlab
