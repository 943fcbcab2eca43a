// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario.hpp"

#include <utility>

namespace schedlab {

void ScenarioRunner::settle_costs(std::uint64_t scenario,
                                  const PreparedProblem& prepared,
                                  const Policy& policy,
                                  const SimulationOptions& options,
                                  bool decides_again) {
  if (prepared.caches == nullptr) return;
  if (recording_.trace.tasks.size() != prepared.graph->task_count()) return;  // not all could run
  const auto [steps, nominal] = prepared.simulated(decides_again ? nullptr : plan_);
  const auto run = [&, steps = steps, &nominal = nominal](const CostTable& costs) -> const Trace& {
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
  if (steps != nullptr) {
    const Problem by_step{nominal.graph, nominal.platform, settled->simulated};
    settled->bounds.work = graph_lower_bounds(by_step).work;
  }
  settled_ = std::move(settled);
}

Samples ScenarioRunner::draw(std::uint64_t scenario, const FullRun& run, const Policy& policy) {
  Samples samples;
  const auto sampling =
      space_.components().sampling(space_.grid().part_index(scenario, Part::variability));
  if (!sampling) return samples;
  const PreparedProblem& prepared = *run.prepared;
  const SimulationOptions options{.stop = stop_};
  const bool decided_before = space_.planned_ahead(scenario) || prepared.single != nullptr;
  const bool decides = !decided_before && this->online(scenario, policy, prepared.problem());
  const auto [steps, nominal] = run.simulated(decides ? nullptr : plan_);
  for (std::uint64_t i = 0; i < sampling->samples; ++i) {
    const Platform platform = vary_platform(sampling->variability, i, nominal.platform);
    vary_costs(
        sampling->variability, i, nominal.graph, nominal.platform, nominal.costs, varied_costs_);
    const Problem varied{nominal.graph, platform, varied_costs_};
    const Plan* plan = plan_;
    // Policies know what to expect, not what comes: they decide by the costs without noise. In a
    // device graph nothing is decided while it runs, and of several ranks one decides for all.
    if (const auto online = decided_before ? std::unique_ptr<OnlinePolicy>{}
                                           : this->online(scenario, policy, prepared.problem())) {
      record_by_kernel(simulator_, steps, varied, *online, options, sample_);
      plan = &sample_.plan;
    } else {
      run_by_kernel(simulator_, steps, varied, *plan, options, sample_.trace);
    }
    if (steps == nullptr) {
      samples.add(summarizer_.summarize(varied, *plan, sample_.trace, graph_lower_bounds(varied)));
      continue;
    }
    CostTable of_tasks = prepared.costs;
    of_tasks.set_task_durations(
        steps->folded(varied_costs_.durations(), steps->gap(*plan, platform)));
    const Problem tasks{*prepared.graph, platform, of_tasks};
    LowerBounds bounds = graph_lower_bounds(tasks);
    bounds.work = graph_lower_bounds(varied).work;
    samples.add(summarizer_.summarize(tasks, *plan, sample_.trace, bounds));
  }
  return samples;
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

SimulatedProblem FullRun::simulated(const Plan* plan_or_none) const {
  const SimulatedProblem nominal = prepared->simulated(plan_or_none);
  if (settled == nullptr) return nominal;
  return {nominal.steps, {nominal.problem.graph, nominal.problem.platform, settled->simulated}};
}

}  // namespace schedlab
