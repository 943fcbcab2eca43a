// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/problem_assembly.hpp"

#include "sim/base/error.hpp"
#include "studies/scenario/problem_bounds.hpp"
#include "studies/scenario/problem_costs.hpp"
#include "workloads/transforms/copied_inputs.hpp"
#include "workloads/transforms/cut_kernels.hpp"
#include "workloads/transforms/data_parallel.hpp"
#include "workloads/transforms/repeat_runs.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {
namespace {

/// The machine as the graph needs it.
std::shared_ptr<const MachineSpec> machine_of(const ProblemParts& parts) {
  const bool sunk = parts.launch.mode == LaunchMode::sink && !parts.preloaded;
  const bool ranks = parts.graph->has_ranks() && parts.machine->platform.ranks == 0;
  if (!sunk && !ranks) return parts.machine;
  auto machine = std::make_shared<MachineSpec>(*parts.machine);
  if (sunk) apply_sink(parts.launch.sink, *parts.graph, machine->platform);
  if (ranks) machine->platform.ranks = parts.graph->rank_count();
  return machine;
}

PreparedProblem on_one_device(const ProblemParts& parts) {
  PreparedProblem made;
  made.graph = parts.graph;
  made.machine = machine_of(parts);
  const Device& device = made.machine->platform.devices[DeviceId{0}];
  auto cut = CutKernels::for_device(device);
  if (!cut && parts.workers != 0) {
    cut.emplace(CutRule{}, CutKernels::units_for(parts.workers, device));
  }
  if (cut) made.graph = std::make_shared<TaskGraph>(cut->apply(*made.graph));
  set_costs_and_gaps(*parts.costs, made);
  return made;
}

/// `graph`, which a transform has made of what `part` runs. Policies still plan what they planned.
PreparedProblem grown(PreparedProblem part, TaskGraph graph, const CostModel& costs) {
  PreparedProblem made;
  made.graph = std::make_shared<TaskGraph>(std::move(graph));
  made.machine = part.machine;
  made.divided = part.divided;
  made.overlap = part.overlap;
  set_costs(costs, made);
  made.planned = part.planned;
  if (made.planned == nullptr) made.planned = std::make_shared<PreparedProblem>(std::move(part));
  return made;
}

PreparedProblem on_ranks(PreparedProblem single,
                         const Transform& transform,
                         std::uint32_t ranks,
                         const CostModel& costs) {
  PreparedProblem made;
  made.graph = std::make_shared<TaskGraph>(transform.apply(*single.graph));
  auto machine = std::make_shared<MachineSpec>(*single.machine);
  machine->platform.ranks = ranks;
  made.machine = std::move(machine);
  set_costs(costs, made);
  made.divided = made.graph;
  made.planned = std::make_shared<PreparedProblem>(std::move(single));
  return made;
}

/// One run, on one device or as spec and workload divide it among ranks.
PreparedProblem one_run(const ProblemParts& parts) {
  const RanksChoice& ranks = parts.ranks;
  if (parts.tensor_parallel && ranks.count != 1) {
    throw InfeasibleError(
        "a workload with tensor_parallel has its own ranks\n  leave out \"ranks\"");
  }
  PreparedProblem single = on_one_device(parts);
  if (parts.tensor_parallel) {
    return on_ranks(std::move(single),
                    TensorParallel{*parts.tensor_parallel},
                    parts.tensor_parallel->ranks,
                    *parts.costs);
  }
  if (ranks.count == 1) return single;
  PreparedProblem made = on_ranks(
      std::move(single),
      DataParallel{{.ranks = ranks.count, .bucket = ranks.bucket, .algorithm = ranks.algorithm}},
      ranks.count,
      *parts.costs);
  made.overlap = ranks.overlap;
  return made;
}

/// Time is a number of picoseconds of 64 bits, which adds up without checks. Throws InfeasibleError
/// where tasks and launches, one after the other, come near its end. Cost: O(tasks).
void expect_countable_time(const PreparedProblem& made, std::uint32_t runs) {
  // Half of the range; the rest is for gaps, and for kernels that slow each other.
  const double longest = to_seconds(Duration::max()) / 2;
  const double launch = to_seconds(made.machine->platform.hosts[HostId{0}].operator_cost());
  double seconds = 0;
  for (const TaskId task : made.graph->tasks()) {
    seconds += to_seconds(made.costs.duration(task)) + made.costs.entry(task).launches * launch;
  }
  if (seconds * runs < longest) return;
  constexpr double day = 86400;
  throw InfeasibleError(
      fmt::format("tasks and launches take {:.3g} days one after the other, and at most {:.0f} can "
                  "be simulated\n  check the shapes of the workload, the rates and host times of "
                  "the machine, and runs",
                  seconds * runs / day,
                  longest / day));
}

}  // namespace

PreparedProblem assemble_problem(const ProblemParts& parts) {
  const LaunchChoice& launch = parts.launch;
  PreparedProblem made = one_run(parts);
  expect_countable_time(made, launch.runs);
  if (launch.mode == LaunchMode::sink && sunk_copies(launch.sink) > 0) {
    TaskGraph graph = with_sunk_copies(*made.graph, launch.sink, made.machine->platform);
    made = grown(std::move(made), std::move(graph), *parts.costs);
  }
  LowerBounds one_run_bounds;
  add_ladder(one_run_bounds, BoundedProblem{made, launch}.problem(), launch.runs);
  if (launch.runs > 1) {
    TaskGraph graph = RepeatRuns{launch.runs}.apply(*made.graph);
    made = grown(std::move(made), std::move(graph), *parts.costs);
  }
  one_run_bounds.critical_path = made.bounds.critical_path;
  one_run_bounds.work = made.bounds.work;
  made.bounds = one_run_bounds;
  return made;
}

}  // namespace schedlab
