// SPDX-License-Identifier: Apache-2.0
#include "cli/problem_costs.hpp"

#include "hw_models/measured.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace schedlab {
namespace {

/// Mean over the kernels (tasks, where they are not told apart), of which those of one unit wait
/// for no other block.
Duration mean_wait(const Problem& problem, double last_block_wait) {
  double kernels = 0;  // seconds
  for (const TaskId task : problem.graph.tasks()) {
    if (problem.costs.entry(task).units < 2) continue;
    kernels += to_seconds(problem.costs.duration(task));
  }
  const auto tasks = static_cast<double>(std::max<std::size_t>(1, problem.graph.task_count()));
  return round_up_seconds(last_block_wait * kernels / tasks);
}

}  // namespace

void set_costs(const CostModel& model, PreparedProblem& made) {
  made.costs = CostTable(*made.graph, made.machine->platform, model);
  made.bounds = graph_lower_bounds(made.problem());
  if (const auto* measured = dynamic_cast<const Measured*>(&model)) {
    made.steps = KernelSteps::of(*made.graph, made.machine->platform, *measured);
    made.caches = CacheCosts::of(made.problem(), made.steps.get(), model);
  }
}

void set_costs_and_gaps(const CostModel& model, PreparedProblem& made) {
  set_costs(model, made);
  const auto& profile = made.machine->platform.devices[DeviceId{0}].profile;
  if (dynamic_cast<const Measured*>(&model) == nullptr || profile == nullptr ||
      profile->last_block_wait == 0) {
    return;
  }
  const Duration wait = mean_wait(made.simulated(), profile->last_block_wait);
  auto machine = std::make_shared<MachineSpec>(*made.machine);
  Device& device = machine->platform.devices[DeviceId{0}];
  device.stream_gap += wait;
  device.graph_node_gap += wait;
  device.event_latency += wait;
  made.machine = std::move(machine);
  set_costs(model, made);
}

}  // namespace schedlab
