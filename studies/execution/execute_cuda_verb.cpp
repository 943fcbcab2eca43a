// SPDX-License-Identifier: Apache-2.0
#include "profiler/kineto_json.hpp"
#include "real_exec/executor/profiled_run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/statistics.hpp"
#include "sim/trace/document.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/execution/cuda_execution.hpp"
#include "studies/execution/execute_verb.hpp"
#include "studies/execution/memory_line.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/one_scenario.hpp"
#include "studies/spec/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

constexpr std::uint32_t warm_up_runs = 2;  // assumed: the clock rate rises within the first

CudaSettings settings_from(const ExecuteOptions& options, int device, const ScenarioSpace& space) {
  CudaSettings settings{.device = device,
                        .connections = std::nullopt,
                        .precision = enum_from<CudaPrecision>(options.precision),
                        .products = cuda_products_of(options.products),
                        .proxy = proxy_from(options.proxy),
                        .debug_sync = options.debug_sync,
                        .allocation = *tensor_allocation_from(options.allocate)};
  settings.connections =
      options.connections > 0 ? std::optional{options.connections} : cuda_connections(space);
  return settings;
}

constexpr const char* kineto_file = "kineto.json";

/// Before the runs, and not after them.
void expect_profiler() {
  const ProfilerStatus status = profiler_available();
  if (!status.available) throw DeviceError("--profile: " + status.reason);
}

void write_kineto(const std::filesystem::path& folder,
                  const TaskGraph& graph,
                  const ActivityLog& log) {
  const KinetoOptions options{.name_of = [&graph](WorkId work) {
    return work.kind() == WorkId::Kind::task ? graph.name(work.task())
                                             : fmt::format("graph {}", work.graph());
  }};
  write_file_atomically(folder / kineto_file, kineto_json(log, options));
}

struct CudaRuns {
  std::vector<double> makespans_us;  // untimed, in order of size
  Execution timed;
  ActivityLog log;  // of the timed run, if it was profiled

  [[nodiscard]] double median_us() const { return makespans_us[(makespans_us.size() - 1) / 2]; }
};

/// One run under the profiler, which this process then cannot get rid of: nothing runs after it.
void profile(CudaScenarioExecutor& executor, CudaRuns& runs) {
  const CpuClock clock;
  CuptiSession session{{}, clock};
  LaunchProfiler observer{session};
  const auto idle = [] {};  // a run returns with the device idle
  executor.observe(&observer);
  executor.execute(0, TaskTiming::none, runs.timed);
  session.discard(idle);
  executor.execute(0, TaskTiming::profiler, runs.timed);
  executor.observe(nullptr);
  runs.log = session.finish(idle);
  const TaskGraph& graph = *executor.measured(0, {}).prepared->graph;
  (void)set_profiled_times(runs.timed, graph, runs.log);
}

CudaRuns repeat(CudaScenarioExecutor& executor, std::uint32_t repetitions, bool profiled) {
  CudaRuns runs;
  Execution run;
  for (std::uint32_t i = 0; i < warm_up_runs + repetitions; ++i) {
    executor.execute(0, TaskTiming::none, run);
    if (i >= warm_up_runs) runs.makespans_us.push_back(to_us(run.trace.makespan()));
  }
  std::sort(runs.makespans_us.begin(), runs.makespans_us.end());
  if (profiled) {
    profile(executor, runs);
  } else {
    executor.execute(0, TaskTiming::events, runs.timed);
  }
  return runs;
}

void print(const Terminal& terminal,
           const ExecuteOptions& options,
           CudaScenarioExecutor& executor,
           const std::string& title,
           const CudaRuns& runs,
           const Metrics& metrics,
           const RunFiles& files) {
  const double timed_us = to_us(runs.timed.trace.makespan());
  if (options.json) {
    nlohmann::ordered_json summary{{"verb", "execute"},
                                   {"title", title},
                                   {"out", options.out},
                                   {"files", files.files},
                                   {"device", "cuda"},
                                   {"device_name", executor.device().name},
                                   {"computes", executor.computes(0)},
                                   {"products", to_string(cuda_products_of(options.products))},
                                   {"repetitions", options.repetitions},
                                   {"makespan_us_median", runs.median_us()},
                                   {"makespan_us_min", runs.makespans_us.front()},
                                   {"makespan_us_max", runs.makespans_us.back()},
                                   {"timed_makespan_us", timed_us},
                                   {"utilization", metrics.utilization}};
    if (const auto memory = executor.allocated(0)) {
      summary["allocated_tensor_bytes"] = memory->tensors_peak.count();
      summary["allocated_workspace_bytes"] = memory->workspace.count();
    }
    terminal.out << summary.dump(2) << '\n';
    return;
  }
  const auto memory = executor.allocated(0);
  terminal.out << fmt::format(
      "{}\n  measured on {}: makespan {:.3f} us (median of {} runs, {:.3f} to {:.3f}); {:.3f} us "
      "with every task timed\n  {} tasks, {} streams, {} events, {} host calls; {}\n{}  {}: {}\n",
      title,
      executor.device().name,
      runs.median_us(),
      options.repetitions,
      runs.makespans_us.front(),
      runs.makespans_us.back(),
      timed_us,
      metrics.tasks,
      metrics.streams,
      metrics.events,
      metrics.host_calls,
      fmt::format("{}, matrix products by {}",
                  executor.computes(0) ? "real kernels" : "stand-ins for the kernels",
                  to_string(cuda_products_of(options.products))),
      memory ? memory_line(*memory, metrics) : std::string{},
      options.out,
      fmt::join(files.files, ", "));
}

}  // namespace

int run_on_cuda(const ExecuteOptions& options, int device, const Terminal& terminal) {
  const Spec spec = load_spec(options.spec, &terminal.err);
  const Grid grid(spec);
  expect_one_scenario(spec, grid);
  ScenarioSpace space(spec, grid);
  space.components().check_all();
  if (options.profile) expect_profiler();
  CudaScenarioExecutor executor(space, settings_from(options, device, space), terminal.stop);
  OutputFolder folder(whole_folder(options.out, "execute", options.overwrite), terminal.leftovers);

  const std::string title = fmt::format(
      "{}: {} on {}", spec.name, grid.part_label(Part::policy, 0), executor.device().name);
  const CudaRuns runs = repeat(executor, options.repetitions, options.profile);
  const auto measured = executor.measured(0, runs.timed);
  const Problem problem = measured.problem();
  const Metrics metrics = compute_metrics(problem, runs.timed.plan, runs.timed.trace);
  const TraceDocument document =
      make_document(problem, runs.timed.plan, runs.timed.trace, title, "measured cuda");
  RunFiles files =
      write_run_files(folder.path(),
                      folder.target(),
                      {.problem = problem,
                       .plan = runs.timed.plan,
                       .origin = {.verb = "execute",
                                  .spec = split_given_text(spec, space.found_split(0).get()),
                                  .spec_file = spec.file,
                                  .spec_folder = spec.folder},
                       .with_trace = !options.no_trace},
                      document,
                      metrics);
  if (options.profile) {
    write_kineto(folder.path(), problem.graph, runs.log);
    files.files.emplace_back(kineto_file);
  }
  folder.publish();
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  for (const auto& [name, problem_of_log] : runs.log.problems.entries()) {
    if (problem_of_log.severity < Severity::data_loss) continue;
    terminal.err << fmt::format("note: the profiler lost records: {} {}, the first: {}\n",
                                problem_of_log.count,
                                name,
                                problem_of_log.example);
  }
  print(terminal, options, executor, title, runs, metrics, files);
  return exit_done;
}

}  // namespace schedlab
