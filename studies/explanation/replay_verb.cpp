// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/replay_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/explanation/replay_report.hpp"
#include "studies/scenario/run_files.hpp"
#include "workloads/traces/data_dependencies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

ReplayMode mode_of(const std::string& word) {
  if (const auto mode = enum_from<ReplayMode>(word)) return *mode;
  throw InputError({.file = "--mode",
                    .pointer = "",
                    .found = word,
                    .expected = fmt::format("{}", fmt::join(enum_names<ReplayMode>(), ", ")),
                    .hint = ""});
}

std::string title_of(const ReplayOptions& options) {
  const std::string first = fs::path(options.traces.front()).filename().string();
  return options.traces.size() == 1
             ? first
             : fmt::format("{} and {} more ranks", first, options.traces.size() - 1);
}

/// An execution trace that nothing would be made of is a mistake.
void expect_policy(const ReplayOptions& options) {
  const bool policy =
      std::any_of(options.what_if.begin(), options.what_if.end(), [](const std::string& change) {
        const auto parts = change_parts(change);
        return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
          return part.starts_with("policy");
        });
      });
  if (policy || options.execution_trace.empty()) return;
  throw InputError({.file = "--execution-trace",
                    .pointer = "",
                    .found = "no policy to plan with its dependencies",
                    .expected = "--what-if policy=NAME",
                    .hint = ""});
}

/// What policies plan with, if there is an execution trace of the same run.
std::optional<TaskGraph> data_dependencies(const ReplayOptions& options,
                                           const ImportedRun& run,
                                           const ReplayModel& model) {
  if (options.execution_trace.empty()) return std::nullopt;
  if (run.traces.size() > 1) {
    throw InputError({.file = "--execution-trace",
                      .pointer = "",
                      .found = fmt::format("{} profiles", run.traces.size()),
                      .expected = "one, of the run that the execution trace is of",
                      .hint = ""});
  }
  return with_data_dependencies(
      model, join_execution_trace(fs::path{options.execution_trace}, run.traces.front()));
}

/// A change to what is far from the profile says little of the program.
void expect_near(const ReplayOptions& options, const ReplayErrors& errors) {
  constexpr double most = 0.1;  // assumed: most gains that people look for are of this size
  if (options.despite_error || std::abs(errors.span_error()) <= most) return;
  throw InfeasibleError(fmt::format(
      "--what-if: the replay that changes start from (mode copied_host_work) lasts {:.3f} us, "
      "the profile {:.3f} us ({:+.1f} %): what a change gives would be no prediction; changes are "
      "made up to {:.0f} %, and beyond with --despite-error",
      to_us(errors.replayed_span),
      to_us(errors.measured_span),
      100 * errors.span_error(),
      100 * most));
}

/// Does nothing that the change touches depend on what the profile lacks? Kernels that are all
/// there, apart from the stretches that are not, or a stretch that is launched at once.
bool is_apart(const std::string& part, const ImportedTrace& trace, const DataLoss& loss) {
  const std::size_t colon = part.find(':');
  if (colon == std::string::npos) return false;
  const std::string word = part.substr(0, colon);
  const bool scale = word == "scale";
  const std::string object =
      part.substr(colon + 1, scale ? part.rfind('=') - colon - 1 : std::string::npos);
  if (word == "graph_launch") {
    const TraceWindow window = find_window(trace, object, 0, "--what-if");
    return loss.reliable(window.from, window.to);
  }
  if (!scale && word != "remove" && word != "fuse") return false;
  return loss.has_all_of(object) &&
         std::none_of(
             trace.device_rows.begin(), trace.device_rows.end(), [&](const DeviceRow& row) {
               return trace.texts[row.name].find(object) != std::string_view::npos &&
                      !loss.reliable(row.started, row.ended);
             });
}

/// Refuses changes that depend on what the profile lacks.
void expect_recorded(const ReplayOptions& options, const ImportedRun& run) {
  if (options.despite_error) return;
  for (const ImportedTrace& trace : run.traces) {
    const DataLoss loss = data_loss(trace);
    if (loss.unreliable.empty()) continue;
    for (const std::string& change : options.what_if) {
      for (const std::string& part : change_parts(change)) {
        if (is_apart(part, trace, loss)) continue;
        throw InfeasibleError(fmt::format(
            "--what-if {}: depends on what {} does not have; {}; changes are made of whole "
            "launches, and of others with --despite-error",
            part,
            trace.file,
            loss.lost));
      }
    }
  }
}

std::vector<ChangedRun> simulate_changes(const ReplayOptions& options,
                                         const ImportedRun& run,
                                         const StopFlag* stop) {
  std::vector<ChangedRun> result;
  if (options.what_if.empty()) return result;
  expect_recorded(options, run);
  const auto ranks = run.ranks();
  const ReplayBase base(make_replay(ranks, ReplayMode::copied_host_work), stop);
  expect_near(options, base.errors);
  const std::optional<TaskGraph> dependencies = data_dependencies(options, run, base.model);
  for (const std::string& change : options.what_if) {
    result.push_back(simulate_change(
        base, run.traces.front(), change, stop, dependencies ? &*dependencies : nullptr));
  }
  return result;
}

std::vector<std::string> write_files(const fs::path& folder,
                                     const ReplayOptions& options,
                                     const ReplayReport& report) {
  RunFiles files;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.push_back(name);
  };
  const Problem problem = report.model.problem();
  const std::string title = title_of(options);
  const TraceDocument replayed =
      make_document(problem, report.model.plan, report.trace, title, "replayed");
  write("replay.json", replay_json(report));
  write("items.csv", table_csv(replay_items(report)));
  if (Table overlaps = replay_overlaps(report); !overlaps.rows.empty()) {
    write("overlap.csv", table_csv(overlaps));
  }
  if (!report.what_if.empty()) write("what_if.csv", table_csv(replay_changes(report)));
  write("trace.json", chrome_json(replayed));
  write("imported_trace.json",
        chrome_json(
            make_document(problem, report.model.plan, report.model.measured, title, "imported")));
  write("plan.json", plan_to_json(report.model.plan, report.model.graph));
  for (std::size_t i = 0; i < report.what_if.size(); ++i) {
    const ChangedRun& change = report.what_if[i];
    write(fmt::format("what_if_{}.json", i + 1),
          chrome_json(make_document(change.replay.problem(),
                                    change.replay.plan,
                                    change.trace,
                                    fmt::format("{}: {}", title, change.change),
                                    "replayed")));
  }
  return files.files;
}

}  // namespace

int run(const ReplayOptions& options, const Terminal& terminal) {
  const ReplayMode mode = mode_of(options.mode);
  expect_policy(options);
  const ImportedRun imported = load_imported_run({options.traces.begin(), options.traces.end()},
                                                 options.assume_like_siblings);
  const auto ranks = imported.ranks();
  const ReplayModel model = make_replay(ranks, mode);
  SimulationOptions simulation;
  simulation.stop = terminal.stop;
  simulation.record_hosts = true;
  const Trace trace = simulate(model.problem(), model.plan, simulation);
  const ReplayReport report{.run = imported,
                            .mode = mode,
                            .model = model,
                            .trace = trace,
                            .errors = replay_errors(model, trace),
                            .collectives = collective_spread(model, trace),
                            .what_if = simulate_changes(options, imported, terminal.stop)};
  std::vector<std::string> files;
  if (!options.out.empty()) {
    OutputFolder folder(whole_folder(options.out, "replay", options.overwrite), terminal.leftovers);
    files = write_files(folder.path(), options, report);
    folder.publish();
  }
  if (options.json) {
    terminal.out << replay_json(report);
    return exit_done;
  }
  terminal.out << replay_text(report);
  if (!files.empty()) {
    terminal.out << fmt::format("{}: {}\n", options.out, fmt::join(files, ", "));
  }
  return exit_done;
}

}  // namespace schedlab
