// SPDX-License-Identifier: Apache-2.0
#include "cli/execution.hpp"

#include "real_exec/gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace schedlab {
namespace {

CpuExecutorOptions executor_options(const ExecutionSettings& settings,
                                    std::uint32_t levels,
                                    const StopFlag* stop) {
  return {.workers = settings.workers,
          .host = settings.host,
          .pin = settings.pin,
          .priority_levels = levels,
          .stop = stop,
          .prepare_worker = &prepare_worker_thread};
}

/// What share of all workers each operation kept busy while its tasks ran.
class ExecutedCosts final : public CostModel {
 public:
  ExecutedCosts(const TaskGraph& graph, const Execution& run, std::uint32_t workers)
      : shares_(graph.operations().size(), 0.0) {
    IdVector<OperationId, double> held(shares_.size(), 0.0);
    for (const TaskSpan& span : run.trace.tasks) {
      held[graph.operation_id(span.task)] += workers * to_seconds(span.duration());
    }
    for (const BlockSpan& block : run.blocks) {
      shares_[graph.operation_id(block.task)] += to_seconds(block.ended - block.started);
    }
    for (const OperationId id : shares_.ids()) {
      const double floor = 1.0 / workers;
      shares_[id] = held[id] > 0 ? std::clamp(shares_[id] / held[id], floor / 1024, 1.0) : floor;
      index_.emplace(&graph.operations()[id], shares_[id]);
    }
  }
  [[nodiscard]] std::string_view name() const override { return "executed"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    const auto found = index_.find(&operation);
    return {.share = found == index_.end() ? 1.0 : found->second};
  }

 private:
  IdVector<OperationId, double> shares_;
  std::map<const Operation*, double> index_;
};

/// Units are not limited: what a task held of the workers is known, not to be computed.
Platform executed_platform(std::uint32_t levels) {
  Platform platform = ideal_platform(levels);
  platform.name = "this CPU";
  platform.devices[DeviceId{0}].name = platform.name;
  return platform;
}

}  // namespace

std::string processor_name() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    return begin == std::string::npos ? "CPU" : line.substr(begin);
  }
  return "CPU";
}

std::optional<ProxyKernels> proxy_from(std::string_view word) {
  if (word == "spin") return ProxyKernels::spin;
  if (word == "shapes") return ProxyKernels::shapes;
  return std::nullopt;
}

std::uint32_t default_workers(HostPlacement host) {
  const std::uint32_t cores = available_cores();
  return host == HostPlacement::own_core ? std::max(cores, 2U) - 1 : cores;
}

ScenarioExecutor::ScenarioExecutor(ScenarioSpace& space,
                                   const ExecutionSettings& settings,
                                   std::uint32_t priority_levels,
                                   const StopFlag* stop)
    : space_(space),
      settings_(settings),
      levels_(std::max(priority_levels, 1U)),
      executor_(executor_options(settings, levels_, stop)),
      planner_(space, stop) {}

ScenarioExecutor::~ScenarioExecutor() = default;

CpuWork& ScenarioExecutor::work_of(std::uint64_t scenario,
                                   const PreparedProblem& problem,
                                   bool& computes) {
  const std::uint64_t workload = space_.grid().part_index(scenario, Part::workload);
  const auto policy = space_.policy(space_.grid().part_index(scenario, Part::policy));
  const Granularity granularity = policy->granularity();
  // Scenarios on other machines have equal graphs, but objects of their own.
  Work& held = works_[{workload, static_cast<std::uint64_t>(granularity)}];
  if (held.work == nullptr || held.problem->graph != problem.graph) {
    held = {};
    const auto spec = space_.components().recurrent_spec(workload, granularity);
    held.problem = std::make_shared<PreparedProblem>(problem);
    if (spec && !settings_.proxy) {
      held.work = std::make_unique<RecurrentWork>(
          *spec, *held.problem->graph, execution_data_seed, settings_.allocation);
      held.computes = true;
    } else {
      held.work = std::make_unique<ProxyWork>(
          *held.problem->graph,
          held.problem->costs,
          ProxyOptions{.kernels = settings_.proxy.value_or(ProxyKernels::shapes),
                       .workers = executor_.workers()});
    }
  }
  computes = held.computes;
  return *held.work;
}

ScenarioExecutor::Prepared& ScenarioExecutor::prepared(std::uint64_t scenario) {
  const auto found = scenarios_.find(scenario);
  if (found != scenarios_.end()) return found->second;
  if (space_.legacy_default_stream(scenario)) {
    throw InfeasibleError(
        "the CPU executor has no legacy default stream; leave out default_stream");
  }
  Prepared made;
  const auto policy = space_.policy(space_.grid().part_index(scenario, Part::policy));
  made.problem = space_.prepared(space_.problem_key(scenario, *policy));
  if (made.problem->once != nullptr) {
    throw InfeasibleError("the CPU executor makes one run at a time; leave out runs");
  }
  if (made.problem->single != nullptr) {
    throw InfeasibleError("the CPU executor runs one device; leave out ranks");
  }
  if (space_.planned_ahead(scenario) || policy->online(made.problem->problem()) == nullptr) {
    made.plan = planner_.run_fully(scenario).plan;
  }
  made.work = &work_of(scenario, *made.problem, made.computes);
  return scenarios_.emplace(scenario, std::move(made)).first->second;
}

bool ScenarioExecutor::computes(std::uint64_t scenario) {
  return prepared(scenario).computes;
}

void ScenarioExecutor::forget() {
  scenarios_.clear();
  works_.clear();
}

void ScenarioExecutor::execute(std::uint64_t scenario, Execution& out) {
  Prepared& run = prepared(scenario);
  const Host& host = run.problem->machine->platform.host(HostId{0});
  if (host.front_end_thread && host.costs.preparation() > Duration{0}) {
    throw InfeasibleError(
        "the CPU executor prepares and launches on one thread; \"launch\": \"eager\" does so");
  }
  executor_.set_front_end(host.costs.preparation());
  if (run.plan) {
    executor_.run(*run.problem->graph, *run.plan, *run.work, out);
    return;
  }
  const auto policy = space_.policy(space_.grid().part_index(scenario, Part::policy));
  const auto online = policy->online(run.problem->problem());
  executor_.run(run.problem->problem(), *online, *run.work, out);
}

std::optional<AllocatedMemory> ScenarioExecutor::allocated(std::uint64_t scenario) {
  const std::optional<AllocatedMemory> memory = prepared(scenario).work->memory();
  return memory && memory->by_tensor ? memory : std::nullopt;
}

ScenarioExecutor::Measured ScenarioExecutor::measured(std::uint64_t scenario,
                                                      const Execution& run) {
  Measured of{
      .prepared = prepared(scenario).problem, .platform = executed_platform(levels_), .costs = {}};
  const TaskGraph& graph = *of.prepared->graph;
  of.costs = CostTable(graph, of.platform, ExecutedCosts(graph, run, executor_.workers()));
  IdVector<TaskId, Duration> durations(graph.task_count(), Duration{0});
  for (const TaskSpan& span : run.trace.tasks) durations[span.task] = span.duration();
  of.costs.set_task_durations(std::move(durations));
  return of;
}

}  // namespace schedlab
