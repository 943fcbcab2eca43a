// SPDX-License-Identifier: Apache-2.0
#include "cli/cuda_execution.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <charconv>

namespace schedlab {
namespace {

CudaExecutorOptions cuda_options(const CudaSettings& settings, const StopFlag* stop) {
  CudaExecutorOptions options{
      .device = settings.device, .connections = settings.connections, .run = {}};
  options.run.debug_sync = settings.debug_sync;
  options.run.stop = stop;
  return options;
}

void expect_one_cuda_run(const PreparedProblem& problem) {
  if (problem.once != nullptr) {
    throw InfeasibleError("the CUDA executor makes one run at a time; leave out runs");
  }
  if (problem.single != nullptr) {
    throw InfeasibleError("the CUDA executor runs one device; leave out ranks");
  }
}

}  // namespace

std::optional<int> cuda_device_from(std::string_view word) {
  constexpr std::string_view name = "cuda";
  if (!word.starts_with(name)) return std::nullopt;
  word.remove_prefix(name.size());
  if (word.empty()) return 0;
  if (!word.starts_with(':')) return std::nullopt;
  word.remove_prefix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size() || number < 0) return std::nullopt;
  return number;
}

CudaScenarioExecutor::CudaScenarioExecutor(ScenarioSpace& space,
                                           const CudaSettings& settings,
                                           const StopFlag* stop)
    : space_(space),
      settings_(settings),
      executor_(cuda_options(settings, stop)),
      planner_(space, stop) {}

CudaScenarioExecutor::~CudaScenarioExecutor() = default;

CudaWork& CudaScenarioExecutor::work_of(std::uint64_t scenario,
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
      held.work = std::make_unique<CudaRecurrentWork>(
          executor_, *spec, *held.problem->graph, execution_data_seed, settings_.precision);
      held.computes = true;
    } else {
      held.work = std::make_unique<CudaProxyWork>(
          executor_,
          *held.problem->graph,
          held.problem->costs,
          CudaProxyOptions{.kernels = settings_.proxy.value_or(ProxyKernels::shapes),
                           .precision = settings_.precision});
    }
  }
  computes = held.computes;
  return *held.work;
}

CudaScenarioExecutor::Prepared& CudaScenarioExecutor::prepared(std::uint64_t scenario) {
  const auto found = scenarios_.find(scenario);
  if (found != scenarios_.end()) return found->second;
  Prepared made;
  const auto policy = space_.policy(space_.grid().part_index(scenario, Part::policy));
  made.problem = space_.prepared(space_.problem_key(scenario, *policy));
  expect_one_cuda_run(*made.problem);
  const bool legacy = space_.legacy_default_stream(scenario);
  if (legacy || space_.planned_ahead(scenario) ||
      policy->online(made.problem->problem()) == nullptr) {
    FullRun planned = planner_.run_fully(scenario);
    if (!planned.findings.empty()) {
      throw InfeasibleError(fmt::format("the plan is not run on a device, as it is not right: {}",
                                        planned.findings.front().message));
    }
    made.plan = std::move(planned.plan);
  }
  made.work = &work_of(scenario, *made.problem, made.computes);
  return scenarios_.emplace(scenario, std::move(made)).first->second;
}

bool CudaScenarioExecutor::computes(std::uint64_t scenario) {
  return prepared(scenario).computes;
}

void CudaScenarioExecutor::forget() {
  scenarios_.clear();
  works_.clear();
}

void CudaScenarioExecutor::execute(std::uint64_t scenario, TaskTiming timing, Execution& out) {
  Prepared& run = prepared(scenario);
  const Host& host = run.problem->machine->platform.host(HostId{0});
  if (host.front_end_thread && host.costs.preparation() > Duration{0}) {
    throw InfeasibleError(
        "the CUDA executor prepares and launches on one thread; \"launch\": \"eager\" does so");
  }
  executor_.run_options().front_end = host.costs.preparation();
  executor_.run_options().timing = timing;
  if (run.plan) {
    executor_.run(*run.problem->graph, *run.plan, *run.work, out);
    return;
  }
  const auto policy = space_.policy(space_.grid().part_index(scenario, Part::policy));
  const auto online = policy->online(run.problem->problem());
  executor_.run(run.problem->problem(), *online, *run.work, out);
}

CudaScenarioExecutor::Measured CudaScenarioExecutor::measured(std::uint64_t scenario,
                                                              const Execution& run) {
  const auto& problem = prepared(scenario).problem;
  Measured of{.prepared = problem, .costs = problem->costs};
  IdVector<TaskId, Duration> durations(problem->graph->task_count(), Duration{0});
  for (const TaskSpan& span : run.trace.tasks) durations[span.task] = span.duration();
  of.costs.set_task_durations(std::move(durations));
  return of;
}

std::string CudaMeasurer::device() const {
  return fmt::format("{}, {} multiprocessors", executor_.device().name, executor_.device().units);
}

MeasuredRun CudaMeasurer::measure(const MeasureRequest& request) {
  MeasuredRun measured;
  executor_.execute(request.scenario, TaskTiming::none, run_);
  measured.makespan = run_.trace.makespan();
  run_ = {};
  executor_.execute(request.scenario, TaskTiming::events, run_);
  measured.trace = std::move(run_.trace);
  if (request.online != nullptr) measured.plan = std::move(run_.plan);
  run_ = {};
  return measured;
}

}  // namespace schedlab
