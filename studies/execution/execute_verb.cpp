// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/execute_verb.hpp"

#include "real_exec/recurrent/gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/statistics.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/memory_use.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/execution/cuda_execution.hpp"
#include "studies/execution/execution.hpp"
#include "studies/execution/memory_line.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/one_scenario.hpp"
#include "studies/spec/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

constexpr std::uint32_t warm_up_runs = 1;

/// Throws InputError for an unknown device, or an option of another one.
void expect_cpu(const ExecuteOptions& options) {
  const auto fail = [](const char* flag, const std::string& found, const char* expected) {
    throw InputError(
        {.file = flag, .pointer = {}, .found = found, .expected = expected, .hint = {}});
  };
  if (options.device != "cpu") {
    fail("--device",
         fmt::format("\"{}\"", options.device),
         "cpu, cuda (cuda:1 for the second) or mpi");
  }
  if (options.ranks > 0) fail("--ranks", "--device cpu", "--device mpi with it");
  const char* const expected = "--device cuda with it";
  if (options.connections > 0) fail("--connections", "--device cpu", expected);
  if (!options.precision.empty()) fail("--precision", "--device cpu", expected);
  if (!options.products.empty()) fail("--products", "--device cpu", expected);
  if (options.debug_sync) fail("--debug-sync", "--device cpu", expected);
  if (options.profile) fail("--profile", "--device cpu", expected);
}

/// All runs of one scenario, and the one in the middle.
struct Repetitions {
  std::vector<double> makespans_us;  // in the order of the runs
  Execution median;
  std::optional<AllocatedMemory> memory;  // most of all runs
};

/// Keeps what happened until a run failed, if that replaces no results. False: nothing was kept.
bool keep_partial(OutputFolder& folder,
                  ScenarioExecutor& executor,
                  const Execution& run,
                  const std::string& title) {
  if (run.trace.tasks.empty()) return false;
  const auto measured = executor.measured(0, run);
  const TraceDocument document = make_document(
      measured.problem(), run.plan, run.trace, title + " (incomplete)", "measured cpu");
  write_file_atomically(folder.path() / "trace.partial.json", chrome_json(document, {}));
  return folder.publish_remains();
}

Repetitions repeat(ScenarioExecutor& executor,
                   const ExecuteOptions& options,
                   const std::string& title,
                   OutputFolder& folder,
                   const Terminal& terminal) {
  std::vector<Execution> runs;
  Execution run;
  std::optional<AllocatedMemory> memory;
  try {
    for (std::uint32_t i = 0; i < warm_up_runs + options.repetitions; ++i) {
      executor.execute(0, run);
      const auto allocated = executor.allocated(0);
      if (allocated && (!memory || memory->tensors_peak < allocated->tensors_peak)) {
        memory = allocated;
      }
      if (i >= warm_up_runs) runs.push_back(std::move(run));
    }
  } catch (const std::exception&) {
    if (keep_partial(folder, executor, run, title)) {
      terminal.err << fmt::format(
          "note: {}/trace.partial.json holds the {} tasks that had started\n",
          options.out,
          run.trace.tasks.size());
    }
    throw;
  }
  Repetitions all;
  all.memory = memory;
  for (const Execution& one : runs) all.makespans_us.push_back(to_us(one.trace.makespan()));
  std::vector<std::size_t> order(runs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return all.makespans_us[a] < all.makespans_us[b];
  });
  all.median = std::move(runs[order[(order.size() - 1) / 2]]);
  return all;
}

struct Said {
  std::string title;
  std::uint32_t workers = 0;
  std::string host;
  bool computes = false;
  double median_us = 0;
  double least_us = 0;
  double most_us = 0;
  double overhead_share = 0;  // of the workers' time, spent on recording
  std::optional<AllocatedMemory> memory;
};

void print(const Terminal& terminal,
           const Said& said,
           const Metrics& metrics,
           const RunFiles& files,
           const ExecuteOptions& options) {
  if (options.json) {
    nlohmann::ordered_json summary{{"verb", "execute"},
                                   {"title", said.title},
                                   {"out", options.out},
                                   {"files", files.files},
                                   {"device", "cpu"},
                                   {"workers", said.workers},
                                   {"host", said.host},
                                   {"computes", said.computes},
                                   {"gemm", gemm_library()},
                                   {"repetitions", options.repetitions},
                                   {"makespan_us_median", said.median_us},
                                   {"makespan_us_min", said.least_us},
                                   {"makespan_us_max", said.most_us},
                                   {"utilization", metrics.utilization},
                                   {"recording_overhead_share", said.overhead_share}};
    if (said.memory) {
      summary["allocated_tensor_bytes"] = said.memory->tensors_peak.count();
      summary["allocated_workspace_bytes"] = said.memory->workspace.count();
    }
    terminal.out << summary.dump(2) << '\n';
    return;
  }
  terminal.out << fmt::format(
      "{}\n  measured on {} workers, host {}: makespan {:.3f} us (median of {} runs, {:.3f} to "
      "{:.3f})\n  utilization {:.1f} %, recording took {:.2f} % of the workers' time\n  {} tasks, "
      "{} "
      "streams, {} events, {} host calls; {}\n{}  {}: {}\n",
      said.title,
      said.workers,
      said.host,
      said.median_us,
      options.repetitions,
      said.least_us,
      said.most_us,
      100 * metrics.utilization,
      100 * said.overhead_share,
      metrics.tasks,
      metrics.streams,
      metrics.events,
      metrics.host_calls,
      said.computes ? fmt::format("real kernels, matrix products by {}", gemm_library())
                    : std::string{"stand-ins for the kernels"},
      said.memory ? memory_line(*said.memory, metrics) : std::string{},
      options.out,
      fmt::join(files.files, ", "));
}

ExecutionSettings settings_from(const ExecuteOptions& options) {
  ExecutionSettings settings{
      .workers = options.workers, .pin = options.pin, .proxy = proxy_from(options.proxy)};
  settings.host = *enum_from<HostPlacement>(options.host);
  settings.allocation = *tensor_allocation_from(options.allocate);
  if (settings.workers == 0) settings.workers = default_workers(settings.host);
  return settings;
}

}  // namespace

int run_on_cpu(const ExecuteOptions& options, const Terminal& terminal) {
  expect_cpu(options);
  const Spec spec = load_spec(options.spec, &terminal.err);
  const Grid grid(spec);
  expect_one_scenario(spec, grid);
  const ExecutionSettings settings = settings_from(options);
  ScenarioSpace space(spec, grid);
  space.prepare_for_execution(settings.workers, settings.host);
  space.components().check_all();
  OutputFolder folder(whole_folder(options.out, "execute", options.overwrite), terminal.leftovers);
  const std::uint32_t levels =
      space.components().machine(0).platform.devices[DeviceId{0}].priority_levels;
  ScenarioExecutor executor(space, settings, levels, terminal.stop);

  const std::string title =
      fmt::format("{}: {} on this CPU", spec.name, grid.part_label(Part::policy, 0));
  const Repetitions runs = repeat(executor, options, title, folder, terminal);
  const auto measured = executor.measured(0, runs.median);
  const Problem problem = measured.problem();
  const Metrics metrics = compute_metrics(problem, runs.median.plan, runs.median.trace);
  const TraceDocument document =
      make_document(problem, runs.median.plan, runs.median.trace, title, "measured cpu");
  const RunFiles files =
      write_run_files(folder.path(),
                      folder.target(),
                      {.problem = problem,
                       .plan = runs.median.plan,
                       .origin = {.verb = "execute",
                                  .spec = split_given_text(spec, space.found_split(0).get()),
                                  .spec_file = spec.file,
                                  .spec_folder = spec.folder,
                                  .workers = executor.workers(),
                                  .host = options.host},
                       .with_trace = !options.no_trace},
                      document,
                      metrics);
  folder.publish();
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';

  const auto [least, most] =
      std::minmax_element(runs.makespans_us.begin(), runs.makespans_us.end());
  print(terminal,
        {.title = title,
         .workers = executor.workers(),
         .host = options.host,
         .computes = executor.computes(0),
         .median_us = to_us(runs.median.trace.makespan()),
         .least_us = *least,
         .most_us = *most,
         .overhead_share = to_us(runs.median.recording_overhead) /
                           (executor.workers() * to_us(runs.median.trace.makespan())),
         .memory = runs.memory},
        metrics,
        files,
        options);
  return exit_done;
}

}  // namespace schedlab
