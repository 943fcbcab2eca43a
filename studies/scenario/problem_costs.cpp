// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/problem_costs.hpp"

#include "hw_models/kernel_cost.hpp"
#include "hw_models/measured.hpp"
#include "hw_models/step_costs.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
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

/// Could the machine have estimated kernels?
bool has_rates(const Device& device) {
  return device.rates.memory > Bandwidth{0.0};
}

/// Whether a model looks at what was measured of a device's kernels, or fitted to that.
bool reads_measurements(const CostModel& model) {
  const auto* const tiled = dynamic_cast<const TiledGemm*>(&model);
  return dynamic_cast<const Measured*>(&model) != nullptr ||
         (tiled != nullptr && tiled->reads_libraries());
}

/// The machine without them, so that results of other models are not called calibrated.
std::shared_ptr<const MachineSpec> without_measurements(
    const std::shared_ptr<const MachineSpec>& machine) {
  const auto& profile = machine->platform.devices[DeviceId{0}].profile;
  if (profile == nullptr) return machine;
  auto made = std::make_shared<MachineSpec>(*machine);
  auto& left = made->platform.devices[DeviceId{0}].profile;
  left = nullptr;
  if (profile->calibrated()) {  // how kernels are cut and slow each other stays
    auto rest = std::make_shared<KernelProfile>(*profile);
    rest->samples.clear();
    rest->libraries.clear();
    rest->context = rest->generation = {};
    left = std::move(rest);
  }
  return made;
}

}  // namespace

std::string note_on_durations(const TaskGraph& graph, const Platform& platform) {
  const auto& operations = graph.operations();
  const auto is_given = [&](const Operation& operation) {
    const bool lasts = graph.has_task_durations() || operation.fixed_duration > Duration{0};
    return lasts && has_only_a_duration(operation) && operation.kind != TaskKind::host &&
           operation.kind != TaskKind::collective;
  };
  const bool any = std::any_of(operations.begin(), operations.end(), is_given);
  if (!any || !has_rates(platform.devices[DeviceId{0}])) return {};
  std::size_t tasks = 0;
  std::size_t given = 0;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.kind == TaskKind::host || operation.kind == TaskKind::collective) continue;
    ++tasks;
    given += is_given(operation) ? 1U : 0U;
  }
  constexpr std::string_view same = ": they are the same on every machine";
  if (given == tasks) return fmt::format("{}{}", all_durations_given, same);
  return fmt::format("{}those of {} of {} tasks{}", durations_given, given, tasks, same);
}

std::string note_on(const PreparedProblem& problem, LaunchMode launch) {
  std::string note = note_on_durations(*problem.graph, problem.machine->platform);
  const HostCosts& costs = problem.machine->platform.hosts[HostId{0}].costs;
  const bool free = costs.graph_launch == Duration{0} && costs.graph_launch_node == Duration{0};
  const auto add = [&](std::string_view more) {
    if (!note.empty()) note += "; ";
    note += more;
  };
  if (launch == LaunchMode::graph_launch && free && costs.launch > Duration{0}) {
    add("device graphs cost nothing to launch: the machine has no graph_launch_us");
  }
  const auto& operations = problem.graph->operations();
  const bool whole = problem.steps == nullptr && !problem.graph->has_task_durations() &&
                     std::any_of(operations.begin(), operations.end(), several_kernels);
  if (whole) add("tasks of several kernels hold the units of their widest kernel to their end");
  return note;
}

void set_costs(const CostModel& model, PreparedProblem& made) {
  if (!reads_measurements(model)) made.machine = without_measurements(made.machine);
  made.costs = CostTable(*made.graph, made.machine->platform, model);
  made.cost_model = model.name();
  made.bounds = graph_lower_bounds(made.problem());
  made.steps = KernelSteps::of(*made.graph, made.machine->platform, made.costs, model);
  // A task needs the units of each kernel while that runs.
  if (made.steps != nullptr) made.bounds.work = graph_lower_bounds(made.simulated().problem).work;
  if (dynamic_cast<const Measured*>(&model) != nullptr) {
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
  const Duration wait = mean_wait(made.simulated().problem, profile->last_block_wait);
  auto machine = std::make_shared<MachineSpec>(*made.machine);
  Device& device = machine->platform.devices[DeviceId{0}];
  device.stream_gap += wait;
  device.graph_node_gap += wait;
  if (device.programmatic_gap) *device.programmatic_gap += wait;
  device.event_latency += wait;
  made.machine = std::move(machine);
  set_costs(model, made);
}

}  // namespace schedlab
