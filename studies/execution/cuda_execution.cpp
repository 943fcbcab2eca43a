// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/cuda_execution.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/final_synchronization.hpp"
#include "sim/trace/measured_durations.hpp"

#include <fmt/format.h>

#include <charconv>

namespace schedlab {
namespace {

CudaExecutorOptions cuda_options(const CudaSettings& settings, const StopFlag* stop) {
  CudaExecutorOptions options{.device = settings.device,
                              .connections = settings.connections,
                              .products = settings.products,
                              .run = {}};
  options.run.debug_sync = settings.debug_sync;
  options.run.stop = stop;
  return options;
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

CudaProducts cuda_products_of(std::string_view word) {
  return enum_from<CudaProducts>(word).value_or(CudaProducts::cublas);
}

std::optional<std::uint32_t> cuda_connections(const ScenarioSpace& space) {
  std::optional<std::uint32_t> number;
  for (std::uint64_t i = 0; i < space.grid().part_count(Part::machine); ++i) {
    const std::uint32_t found =
        space.components().machine(i).platform.devices[DeviceId{0}].connections;
    if (number && *number != found) {
      throw InputError({.file = "machine",
                        .pointer = "/connections",
                        .found = fmt::format("{} and {}", *number, found),
                        .expected = "one number of hardware connections, as a process has one",
                        .hint = "run them one after the other, with --connections"});
    }
    number = found;
  }
  // 0 is one for each stream; more than 32 CUDA does not have (CUDA C++ Programming Guide,
  // CUDA_DEVICE_MAX_CONNECTIONS).
  constexpr std::uint32_t most = 32;
  return number && *number >= 1 && *number <= most ? number : std::nullopt;
}

CudaScenarioExecutor::CudaScenarioExecutor(ScenarioSpace& space,
                                           const CudaSettings& settings,
                                           const StopFlag* stop)
    : settings_(settings),
      executor_(cuda_options(settings, stop)),
      works_(space,
             {.executor = "CUDA", .legacy_default_stream = true, .refuses_findings = true},
             stop) {}

CudaScenarioExecutor::Works::MadeWork CudaScenarioExecutor::make_work(
    const PreparedProblem& problem, const std::optional<RecurrentSpec>& spec) {
  if (spec && !settings_.proxy) {
    return {.work = std::make_unique<CudaRecurrentWork>(executor_,
                                                        *spec,
                                                        *problem.graph,
                                                        execution_data_seed,
                                                        settings_.precision,
                                                        settings_.allocation),
            .computes = true};
  }
  const CudaProxyOptions options{.kernels = settings_.proxy.value_or(ProxyKernels::shapes),
                                 .precision = settings_.precision};
  return {
      .work = std::make_unique<CudaProxyWork>(executor_, *problem.graph, problem.costs, options),
      .computes = false};
}

CudaScenarioExecutor::Works::Prepared& CudaScenarioExecutor::prepared(std::uint64_t scenario) {
  Works::Prepared& made =
      works_.prepared(scenario, [this](const PreparedProblem& problem, const auto& spec) {
        return make_work(problem, spec);
      });
  // The wait that the executor would end a run with becomes a part of the plan.
  if (made.plan) synchronize_at_end(*made.plan);
  return made;
}

bool CudaScenarioExecutor::computes(std::uint64_t scenario) {
  return prepared(scenario).computes;
}

CudaRecurrentWork* CudaScenarioExecutor::recurrent_work(std::uint64_t scenario) {
  return dynamic_cast<CudaRecurrentWork*>(prepared(scenario).work);
}

std::optional<AllocatedMemory> CudaScenarioExecutor::allocated(std::uint64_t scenario) {
  return prepared(scenario).allocated();
}

void CudaScenarioExecutor::forget() {
  works_.forget();
}

void CudaScenarioExecutor::execute(std::uint64_t scenario, TaskTiming timing, Execution& out) {
  static_cast<void>(prepared(scenario));
  executor_.run_options().front_end = works_.preparation(scenario);
  executor_.run_options().timing = timing;
  works_.run(scenario, executor_, out);
}

CudaScenarioExecutor::Measured CudaScenarioExecutor::measured(std::uint64_t scenario,
                                                              const Execution& run) {
  const auto& problem = prepared(scenario).scenario.problem;
  Measured of{.prepared = problem, .costs = problem->costs};
  of.costs.set_task_durations(measured_durations(*problem->graph, run.trace));
  return of;
}

std::string CudaMeasurer::device() const {
  return fmt::format("{}, {} multiprocessors, products by {}",
                     executor_.device().name,
                     executor_.device().units,
                     to_string(products_));
}

MeasuredRun CudaMeasurer::measure(const MeasureRequest& request) {
  MeasuredRun measured;
  executor_.execute(request.scenario, TaskTiming::none, run_);
  measured.makespan = run_.trace.makespan();
  run_ = {};
  executor_.execute(request.scenario, TaskTiming::events, run_);
  measured.trace = std::move(run_.trace);
  if (request.online != nullptr) measured.plan = std::move(run_.plan);
  if (const auto memory = executor_.allocated(request.scenario)) {
    measured.tensors_peak = memory->tensors_peak;
  }
  run_ = {};
  return measured;
}

}  // namespace schedlab
