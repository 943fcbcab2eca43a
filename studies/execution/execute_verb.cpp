// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/execute_verb.hpp"

#include "profiler/kineto_json.hpp"
#include "real_exec/executor/profiled_run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/execution/memory_line.hpp"
#include "studies/execution/scenario_executor.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/one_scenario.hpp"
#include "studies/spec/spec.hpp"
#include "studies/spec/spec_edits.hpp"

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

constexpr const char* kineto_file = "kineto.json";

/// Throws InputError for an unknown device, or an option of another one.
NamedDevice device_of(const ExecuteOptions& options) {
  const auto device = device_from(options.device);
  if (!device) {
    throw InputError({.file = "--device",
                      .pointer = {},
                      .found = fmt::format("\"{}\"", options.device),
                      .expected = device_choices(training_devices),
                      .hint = {}});
  }
  if (options.ranks > 0) {
    throw InputError({.file = "--ranks",
                      .pointer = {},
                      .found = "--device " + options.device,
                      .expected = "--device mpi or threads with it",
                      .hint = {}});
  }
  expect_flags_of(options.device,
                  {{"--connections", options.connections > 0},
                   {"--precision", !options.precision.empty()},
                   {"--products", !options.products.empty()},
                   {"--debug-sync", options.debug_sync},
                   {"--profile", options.profile}});
  return *device;
}

DeviceRequest request_of(const ExecuteOptions& options) {
  DeviceRequest request{.workers = options.workers,
                        .host = enum_from<HostPlacement>(options.host),
                        .pin = options.pin,
                        .as_calibrated = false,
                        .proxy = proxy_from(options.proxy),
                        .allocation = enum_value<TensorAllocation>(options.allocate),
                        .precision = enum_from<CudaPrecision>(options.precision),
                        .products = cuda_products_of(options.products),
                        .debug_sync = options.debug_sync};
  if (options.connections > 0) request.connections = options.connections;
  return request;
}

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

/// All runs of one scenario, and the one that is written.
struct Repetitions {
  std::vector<double> makespans_us;  // in order of size
  /// The median one; where tasks are not seen, one more whose tasks were timed.
  Execution shown;
  std::optional<AllocatedMemory> memory;
  ActivityLog log;  // of the shown run, if it was profiled

  [[nodiscard]] double median_us() const { return makespans_us[(makespans_us.size() - 1) / 2]; }
};

Spec spec_of(const ExecuteOptions& options, std::ostream& notes) {
  Spec spec = load_spec(options.spec, &notes);
  if (options.launch.empty()) return spec;
  return parse_spec(text_with_launch(spec.text, options.launch), spec.file, spec.folder);
}

/// One scenario executed from spec to folder.
class ExecuteRun {
 public:
  ExecuteRun(const ExecuteOptions& options, const Terminal& terminal, const NamedDevice& device)
      : options_(options),
        terminal_(terminal),
        spec_(spec_of(options, terminal.err)),
        grid_(spec_),
        space_(spec_, grid_),
        executor_(space_, opened(device), terminal.stop),
        folder_(whole_folder(options.out, "execute", options.overwrite), terminal.leftovers),
        title_(fmt::format(
            "{}: {} on {}", spec_.name, grid_.part_label(Part::policy, 0), traits().title)) {}

  [[nodiscard]] int run() {
    const Repetitions runs = repeat();
    const Execution& shown = runs.shown;
    const auto measured = executor_.measured(0, shown);
    const Problem problem = measured.problem();
    Metrics metrics = compute_metrics(problem, shown.plan, shown.trace);
    metrics.cost_evidence = CostEvidence::measured;
    const TraceDocument document =
        make_document(problem, shown.plan, shown.trace, title_, "measured " + traits().kind);
    RunOrigin origin{.verb = "execute",
                     .spec = split_given_text(spec_, space_.found_split(0).get()),
                     .spec_file = spec_.file,
                     .spec_folder = spec_.folder};
    if (traits().workers > 0) {
      origin.workers = traits().workers;
      origin.host = options_.host;
    }
    RunFiles files = write_run_files(folder_.path(),
                                     folder_.target(),
                                     {.problem = problem,
                                      .plan = shown.plan,
                                      .origin = origin,
                                      .with_trace = !options_.no_trace},
                                     document,
                                     metrics);
    if (options_.profile) {
      write_kineto(folder_.path(), problem.graph, runs.log);
      files.files.emplace_back(kineto_file);
    }
    folder_.publish();
    for (const std::string& notice : files.notices) terminal_.err << "note: " << notice << '\n';
    note_losses(runs.log);
    if (options_.json) {
      print_json(runs, metrics, files);
    } else {
      print_text(runs, metrics, files);
    }
    return exit_done;
  }

 private:
  [[nodiscard]] const DeviceTraits& traits() const { return executor_.traits(); }

  [[nodiscard]] std::unique_ptr<ExecutionDevice> opened(const NamedDevice& device) {
    expect_one_scenario(spec_, grid_);
    const DeviceRequest request = device.kind->prepare(request_of(options_), space_);
    space_.components().check_all();
    if (options_.profile) expect_profiler();
    return device.kind->open(device, request, space_, terminal_.stop);
  }

  /// Keeps what happened until a run failed, if that replaces no results.
  void keep_partial(const Execution& run) {
    if (run.trace.tasks.empty()) return;
    const auto measured = executor_.measured(0, run);
    const TraceDocument document = make_document(measured.problem(),
                                                 run.plan,
                                                 run.trace,
                                                 title_ + " (incomplete)",
                                                 "measured " + traits().kind);
    write_file_atomically(folder_.path() / "trace.partial.json", chrome_json(document, {}));
    if (!folder_.publish_remains()) return;
    terminal_.err << fmt::format(
        "note: {}/trace.partial.json holds the {} tasks that had started\n",
        options_.out,
        run.trace.tasks.size());
  }

  [[nodiscard]] Repetitions repeat() {
    Repetitions all;
    std::vector<Execution> runs;
    Execution run;
    try {
      for (std::uint32_t i = 0; i < traits().warm_up_runs + options_.repetitions; ++i) {
        executor_.execute(0, TaskTiming::none, run);
        const auto allocated = executor_.allocated(0);
        if (allocated && (!all.memory || all.memory->tensors_peak < allocated->tensors_peak)) {
          all.memory = allocated;
        }
        if (i >= traits().warm_up_runs) runs.push_back(std::move(run));
      }
    } catch (const std::exception&) {
      keep_partial(run);
      throw;
    }
    std::stable_sort(runs.begin(), runs.end(), [](const Execution& a, const Execution& b) {
      return a.trace.makespan() < b.trace.makespan();
    });
    for (const Execution& one : runs) all.makespans_us.push_back(to_us(one.trace.makespan()));
    if (traits().sees_blocks) {
      all.shown = std::move(runs[(runs.size() - 1) / 2]);
      return all;
    }
    if (options_.profile) {
      profile(all);
    } else {
      executor_.execute(0, TaskTiming::events, all.shown);
    }
    all.memory = executor_.allocated(0);
    return all;
  }

  /// One run under the profiler, which this process then cannot get rid of: nothing runs after it.
  void profile(Repetitions& all) {
    const CpuClock clock;
    CuptiSession session{{}, clock};
    LaunchProfiler observer{session};
    const auto idle = [] {};  // a run returns with the device idle
    executor_.observe(&observer);
    executor_.execute(0, TaskTiming::none, all.shown);
    session.discard(idle);
    executor_.execute(0, TaskTiming::profiler, all.shown);
    executor_.observe(nullptr);
    all.log = session.finish(idle);
    const TaskGraph& graph = *executor_.measured(0, {}).prepared->graph;
    (void)set_profiled_times(all.shown, graph, all.log);
  }

  void note_losses(const ActivityLog& log) const {
    for (const auto& [name, problem] : log.problems.entries()) {
      if (problem.severity < Severity::data_loss) continue;
      terminal_.err << fmt::format("note: the profiler lost records: {} {}, the first: {}\n",
                                   problem.count,
                                   name,
                                   problem.example);
    }
  }

  /// Of the workers' time, what recording took.
  [[nodiscard]] double overhead_share(const Execution& run) const {
    return to_us(run.recording_overhead) / (traits().workers * to_us(run.trace.makespan()));
  }

  void print_json(const Repetitions& runs, const Metrics& metrics, const RunFiles& files) {
    nlohmann::ordered_json summary{{"verb", "execute"},
                                   {"title", title_},
                                   {"out", options_.out},
                                   {"files", files.files},
                                   {"device", traits().kind}};
    if (traits().workers > 0) {
      summary["workers"] = traits().workers;
      summary["host"] = options_.host;
    } else {
      summary["device_name"] = traits().title;
    }
    summary["computes"] = executor_.computes(0);
    summary[traits().sees_blocks ? "gemm" : "products"] = traits().products;
    summary["repetitions"] = options_.repetitions;
    summary["makespan_us_median"] = runs.median_us();
    summary["makespan_us_min"] = runs.makespans_us.front();
    summary["makespan_us_max"] = runs.makespans_us.back();
    if (!traits().sees_blocks) summary["timed_makespan_us"] = to_us(runs.shown.trace.makespan());
    summary["utilization"] = metrics.utilization;
    if (traits().sees_blocks) summary["recording_overhead_share"] = overhead_share(runs.shown);
    if (runs.memory) {
      summary["allocated_tensor_bytes"] = runs.memory->tensors_peak.count();
      summary["allocated_workspace_bytes"] = runs.memory->workspace.count();
    }
    terminal_.out << summary.dump(2) << '\n';
  }

  void print_text(const Repetitions& runs, const Metrics& metrics, const RunFiles& files) {
    const bool real = executor_.computes(0);
    std::string on = traits().title;
    std::string times;
    std::string kernels = real ? "real kernels" : "proxy kernels";
    if (traits().sees_blocks) {
      on = fmt::format("{} workers, host {}", traits().workers, options_.host);
      times = fmt::format("\n  utilization {:.1f} %, recording took {:.2f} % of the workers' time",
                          100 * metrics.utilization,
                          100 * overhead_share(runs.shown));
    } else {
      times = fmt::format("; {:.3f} us with every task timed", to_us(runs.shown.trace.makespan()));
    }
    if (real || !traits().sees_blocks) kernels += ", matrix products by " + traits().products;
    terminal_.out << fmt::format(
        "{}\n  measured on {}: makespan {:.3f} us (median of {} runs, {:.3f} to {:.3f}){}\n"
        "  {} tasks, {} streams, {} events, {} host calls; {}\n{}  {}: {}\n",
        title_,
        on,
        runs.median_us(),
        options_.repetitions,
        runs.makespans_us.front(),
        runs.makespans_us.back(),
        times,
        metrics.tasks,
        metrics.streams,
        metrics.events,
        metrics.host_calls,
        kernels,
        runs.memory ? memory_line(*runs.memory, metrics) : std::string{},
        options_.out,
        fmt::join(files.files, ", "));
  }

  const ExecuteOptions& options_;
  const Terminal& terminal_;
  Spec spec_;
  Grid grid_;
  ScenarioSpace space_;
  ScenarioExecutor executor_;
  OutputFolder folder_;
  std::string title_;
};

}  // namespace

int run_on_device(const ExecuteOptions& options, const Terminal& terminal) {
  const NamedDevice device = device_of(options);
  return ExecuteRun{options, terminal, device}.run();
}

}  // namespace schedlab
