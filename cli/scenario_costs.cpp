// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario.hpp"

#include <utility>

namespace schedlab {

void ScenarioRunner::settle_costs(std::uint64_t scenario,
                                  const PreparedProblem& prepared,
                                  const Policy& policy,
                                  const SimulationOptions& options,
                                  bool decides_again) {
  if (prepared.caches == nullptr) return;
  if (recording_.trace.tasks.size() != prepared.graph->task_count()) return;  // not all could run
  const Problem nominal = prepared.simulated();
  const KernelSteps* const steps = prepared.steps.get();
  const auto run = [&](const CostTable& costs) -> const Trace& {
    const Problem problem{nominal.graph, nominal.platform, costs};
    if (decides_again) {
      const auto online = this->online(scenario, policy, prepared.problem());
      record_by_kernel(simulator_, steps, problem, *online, options, recording_);
      recording_.plan.policy = policy.name();
    } else {
      run_by_kernel(simulator_, steps, problem, *plan_, options, recording_.trace);
    }
    return recording_.trace;
  };
  auto settled = std::make_shared<SettledCosts>();
  settled->simulated = settle(*prepared.caches, nominal.costs, recording_.trace, run);
  settled->tasks = prepared.costs;
  const IdVector<TaskId, Duration> durations = settled->simulated.durations();
  const Device& device = prepared.machine->platform.devices[DeviceId{0}];
  settled->tasks.set_task_durations(steps == nullptr ? durations
                                                     : steps->folded(durations, device.stream_gap));
  settled->bounds =
      graph_lower_bounds({*prepared.graph, prepared.machine->platform, settled->tasks});
  settled_ = std::move(settled);
}

FullRun ScenarioRunner::settled_run(const std::shared_ptr<const PreparedProblem>& prepared) const {
  FullRun run;
  run.prepared = prepared;
  run.settled = settled_;
  return run;
}

Problem FullRun::problem() const {
  if (settled == nullptr) return prepared->problem();
  return {*prepared->graph, prepared->machine->platform, settled->tasks};
}

Problem FullRun::simulated() const {
  const Problem nominal = prepared->simulated();
  if (settled == nullptr) return nominal;
  return {nominal.graph, nominal.platform, settled->simulated};
}

}  // namespace schedlab
