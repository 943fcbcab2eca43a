// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/execution.hpp"

#include "real_exec/recurrent/gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/trace/measured_durations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
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

std::optional<ProxyKernels> proxy_from(std::string_view word) {
  if (word == "spin") return ProxyKernels::spin;
  if (word == "shapes") return ProxyKernels::shapes;
  return std::nullopt;
}

std::uint32_t default_workers(HostPlacement host) {
  const std::uint32_t cores = available_cores();
  return host == HostPlacement::own_core ? std::max(cores, 2U) - 1 : cores;
}

ExecutionSettings calibrated_settings(ExecutionSettings settings,
                                      std::optional<HostPlacement> given,
                                      const ScenarioSpace& space) {
  const Platform platform = space.components().machine(0).platform;
  const KernelProfile* const profile = calibrated_profile(platform.devices[DeviceId{0}]);
  if (profile != nullptr && settings.workers != 0 && settings.workers != profile->units) {
    throw InputError(
        {.file = "--workers",
         .pointer = {},
         .found = fmt::format("{}", settings.workers),
         .expected = fmt::format("{}, as the machine was calibrated with", profile->units),
         .hint = "schedlab calibrate --workers N measures for others"});
  }
  if (settings.workers == 0 && profile != nullptr) settings.workers = profile->units;
  if (settings.workers == 0) {
    settings.workers = default_workers(given.value_or(HostPlacement::own_core));
  }
  const bool core_left = settings.workers < available_cores();
  settings.host = given.value_or(core_left ? HostPlacement::own_core : HostPlacement::shares_core);
  return settings;
}

ScenarioExecutor::ScenarioExecutor(ScenarioSpace& space,
                                   const ExecutionSettings& settings,
                                   std::uint32_t priority_levels,
                                   const StopFlag* stop)
    : settings_(settings),
      levels_(std::max(priority_levels, 1U)),
      executor_(executor_options(settings, levels_, stop)),
      works_(space, {.executor = "CPU", .refuses_findings = true}, stop) {}

ScenarioExecutor::Works::MadeWork ScenarioExecutor::make_work(
    const PreparedProblem& problem, const std::optional<RecurrentSpec>& spec) const {
  if (spec && !settings_.proxy) {
    return {.work = std::make_unique<RecurrentWork>(
                *spec, *problem.graph, execution_data_seed, settings_.allocation),
            .computes = true};
  }
  const ProxyOptions options{.kernels = settings_.proxy.value_or(ProxyKernels::shapes),
                             .workers = executor_.workers()};
  return {.work = std::make_unique<ProxyWork>(*problem.graph, problem.costs, options),
          .computes = false};
}

ScenarioExecutor::Works::Prepared& ScenarioExecutor::prepared(std::uint64_t scenario) {
  return works_.prepared(scenario, [this](const PreparedProblem& problem, const auto& spec) {
    return make_work(problem, spec);
  });
}

bool ScenarioExecutor::computes(std::uint64_t scenario) {
  return prepared(scenario).computes;
}

RecurrentWork* ScenarioExecutor::recurrent_work(std::uint64_t scenario) {
  return dynamic_cast<RecurrentWork*>(prepared(scenario).work);
}

void ScenarioExecutor::forget() {
  works_.forget();
}

void ScenarioExecutor::execute(std::uint64_t scenario, Execution& out) {
  static_cast<void>(prepared(scenario));
  executor_.set_front_end(works_.preparation(scenario));
  works_.run(scenario, executor_, out);
}

std::optional<AllocatedMemory> ScenarioExecutor::allocated(std::uint64_t scenario) {
  return prepared(scenario).allocated();
}

ScenarioExecutor::Measured ScenarioExecutor::measured(std::uint64_t scenario,
                                                      const Execution& run) {
  Measured of{.prepared = prepared(scenario).scenario.problem,
              .platform = executed_platform(levels_),
              .costs = {}};
  const TaskGraph& graph = *of.prepared->graph;
  of.costs = CostTable(graph, of.platform, ExecutedCosts(graph, run, executor_.workers()));
  of.costs.set_task_durations(measured_durations(graph, run.trace));
  return of;
}

}  // namespace schedlab
