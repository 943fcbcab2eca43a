// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/scenario_executor.hpp"

#include "real_exec/cpu/proxy_work.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/final_synchronization.hpp"
#include "sim/trace/measured_durations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

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
Platform executed_platform(const DeviceProperties& device, const std::string& name) {
  Platform platform = ideal_platform(
      static_cast<std::uint32_t>(device.least_priority - device.greatest_priority + 1));
  platform.name = name;
  platform.devices[DeviceId{0}].name = platform.name;
  return platform;
}

/// The kernels that run for real multiply the inputs of one step at a time going forward.
void expect_single_steps(const RecurrentSpec& spec) {
  if (spec.input_steps == 1 || spec.pass == RecurrentPass::backward) return;
  throw InfeasibleError(
      "kernels that run for real multiply the inputs of single steps in the forward pass; set "
      "\"input_steps\": 1, and \"hidden_2_steps\" for the backward pass",
      "input_steps",
      fmt::format("{}", spec.input_steps),
      "1");
}

}  // namespace

ScenarioExecutor::ScenarioExecutor(ScenarioSpace& space,
                                   std::unique_ptr<ExecutionDevice> device,
                                   const StopFlag* stop)
    : space_(space), device_(std::move(device)), planner_(space, stop) {}

void ScenarioExecutor::expect_one_run(const Scenario& scenario) const {
  std::string limit;
  if (scenario.legacy_default_stream && !traits().legacy_default_stream) {
    limit = "has no legacy default stream; leave out default_stream";
  } else if (scenario.launch.programmatic != ProgrammaticLaunches::none &&
             !traits().programmatic_launches) {
    limit = "has no programmatic launches; leave out programmatic";
  } else if (scenario.launch.urgent_units != 0 && !traits().no_partitions.empty()) {
    limit = "has no urgent_units: " + traits().no_partitions + "; leave them out";
  } else if (scenario.launch.runs > 1) {
    limit = "makes one run at a time; leave out runs";
  } else if (scenario.problem->divided != nullptr) {
    limit = "runs one device; leave out ranks";
  }
  if (!limit.empty()) throw InfeasibleError("the " + traits().executor + " executor " + limit);
}

Plan ScenarioExecutor::checked_plan(const Scenario& scenario) {
  FullRun planned = planner_.run_fully(scenario);
  if (!planned.findings.empty()) {
    throw InfeasibleError("the plan is not run on a device, as it is not right: " +
                          planned.findings.front().message);
  }
  // The wait that such a device's executor would end a run with becomes a part of the plan.
  if (traits().ends_synchronized) synchronize_at_end(planned.plan);
  return std::move(planned.plan);
}

const ExecutionDevice::PreparedWork& ScenarioExecutor::work_of(const Scenario& scenario) {
  const std::uint64_t workload = scenario.part(Part::workload);
  const auto granularity = static_cast<std::uint64_t>(scenario.granularity);
  const std::int64_t slices = scenario.split == nullptr ? 0 : scenario.split->chosen;
  Work& work = works_[{workload, granularity, static_cast<std::uint64_t>(slices)}];
  // Scenarios on other machines have equal graphs, but objects of their own.
  if (work.made.work == nullptr || work.problem->graph != scenario.problem->graph) {
    work = {};
    work.problem = scenario.problem;
    const std::optional<RecurrentSpec> recurrent =
        space_.components().recurrent_spec(workload, scenario.granularity);
    if (recurrent) expect_single_steps(*recurrent);
    work.made = device_->make_work(*work.problem, recurrent);
  }
  return work.made;
}

ScenarioExecutor::Prepared& ScenarioExecutor::prepared(std::uint64_t scenario) {
  const auto found = scenarios_.find(scenario);
  if (found != scenarios_.end()) return found->second;
  Prepared made;
  made.scenario = space_.scenario(scenario);
  expect_one_run(made.scenario);
  if (made.scenario.legacy_default_stream || made.scenario.planned_ahead() ||
      made.scenario.online(made.scenario.problem->problem()) == nullptr) {
    made.plan = checked_plan(made.scenario);
  }
  made.made = &work_of(made.scenario);
  return scenarios_.emplace(scenario, std::move(made)).first->second;
}

/// Host time to prepare each launch. Throws InfeasibleError if a second thread would do so.
Duration ScenarioExecutor::preparation(const Scenario& scenario) const {
  const Host& host = scenario.problem->machine->platform.host(HostId{0});
  if (host.front_end_thread && host.costs.preparation() > Duration{0}) {
    throw InfeasibleError("the " + traits().executor +
                          " executor prepares and launches on one thread; \"launch\": \"eager\" "
                          "does so");
  }
  return host.costs.preparation();
}

TrainedNetwork* ScenarioExecutor::network(std::uint64_t scenario) {
  return dynamic_cast<TrainedNetwork*>(prepared(scenario).made->work.get());
}

std::optional<AllocatedMemory> ScenarioExecutor::allocated(std::uint64_t scenario) {
  const std::optional<AllocatedMemory> memory = prepared(scenario).made->work->memory();
  return memory && memory->by_tensor ? memory : std::nullopt;
}

void ScenarioExecutor::draw_durations(Prepared& ready) {
  auto* const spinning = dynamic_cast<ProxyWork*>(ready.made->work.get());
  if (spinning == nullptr || !ready.scenario.sampling) return;
  const Problem nominal = ready.scenario.problem->problem();
  CostTable drawn;
  vary_costs(ready.scenario.sampling->variability,
             ready.runs++,
             nominal.graph,
             nominal.platform,
             nominal.costs,
             drawn);
  spinning->set_durations(drawn.durations());
}

void ScenarioExecutor::execute(std::uint64_t scenario, TaskTiming timing, Execution& out) {
  Prepared& ready = prepared(scenario);
  draw_durations(ready);
  PlanExecutor& executor = device_->executor();
  executor.run_options().front_end = preparation(ready.scenario);
  executor.run_options().timing = timing;
  if (ready.plan) {
    executor.run(*ready.scenario.problem->graph, *ready.plan, *ready.made->work, out);
    return;
  }
  const Problem problem = ready.scenario.problem->problem();
  const auto online = ready.scenario.online(problem);
  executor.run(problem, *online, *ready.made->work, out);
  out.plan.policy = ready.scenario.made_policy().name();
}

void ScenarioExecutor::forget() {
  scenarios_.clear();
  works_.clear();
}

ScenarioExecutor::Measured ScenarioExecutor::measured(std::uint64_t scenario,
                                                      const Execution& run) {
  const auto& problem = prepared(scenario).scenario.problem;
  const TaskGraph& graph = *problem->graph;
  Measured of{.prepared = problem, .platform = problem->machine->platform, .costs = problem->costs};
  if (traits().sees_blocks) {
    of.platform = executed_platform(device_->executor().properties(), traits().title);
    of.costs = CostTable(graph, of.platform, ExecutedCosts(graph, run, traits().workers));
  }
  of.costs.set_task_durations(measured_durations(graph, run.trace));
  return of;
}

DeviceMeasurer::DeviceMeasurer(ScenarioSpace& space,
                               std::unique_ptr<ExecutionDevice> device,
                               const StopFlag* stop)
    : executor_(space, std::move(device), stop),
      checks_speed_(executor_.device().prepare_speed_check()) {}

std::string DeviceMeasurer::device() const {
  const DeviceTraits& device = executor_.traits();
  return device.sees_blocks ? device.name : device.name + ", products by " + device.products;
}

MeasuredRun DeviceMeasurer::measure(const MeasureRequest& request) {
  MeasuredRun measured;
  if (!executor_.traits().sees_blocks) {
    executor_.execute(request.scenario, TaskTiming::none, run_);
    measured.makespan = run_.trace.makespan();
    run_ = {};
  }
  executor_.execute(request.scenario, TaskTiming::events, run_);
  measured.trace = std::move(run_.trace);
  if (const auto memory = executor_.allocated(request.scenario)) {
    measured.tensors_peak = memory->tensors_peak;
  }
  if (request.online != nullptr) measured.plan = std::move(run_.plan);
  run_ = {};
  return measured;
}

std::optional<DriftReading> DeviceMeasurer::check_speed() {
  return checks_speed_ ? executor_.device().check_speed() : std::nullopt;
}

}  // namespace schedlab
