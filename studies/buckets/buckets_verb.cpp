// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/buckets_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/buckets/bucket_files.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/epoch_sensitivity.hpp"
#include "studies/buckets/executed_files.hpp"
#include "studies/buckets/memory_time.hpp"
#include "studies/buckets/study_progress.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/spec/spec_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

/// Everything that one call works out.
struct BucketResults {
  BucketStudy study;
  std::optional<Sensitivity> sensitivity{};  // of two epochs, if their steps are small
  std::vector<MemoryTimePoint> points;       // empty: not asked for
  std::optional<ExecutedStudy> executed;     // if asked for
  bool complete = true;
};

ReportDocument report_of(const BucketResults& results, const std::vector<std::string>& pictures) {
  ReportDocument report =
      bucket_report(results.study, results.sensitivity ? &*results.sensitivity : nullptr, pictures);
  if (results.executed) add_executed(report, results.study, *results.executed);
  return report;
}

RunFiles write_results(const std::filesystem::path& folder, const BucketResults& results) {
  const BucketStudy& study = results.study;
  RunFiles files;
  const auto write = [&](const char* name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.emplace_back(name);
  };
  write("buckets.json", bucket_json(study));
  write("buckets.csv", table_csv(bucket_table(study)));
  if (results.executed) {
    write("executed.json", executed_json(study, *results.executed));
    write("executed.csv", table_csv(executed_table(study, *results.executed)));
  }
  if (!results.complete) return files;
  std::vector<std::string> more;
  if (!results.points.empty()) {
    write("memory_time.csv", table_csv(memory_time_table(results.points)));
    more.push_back(memory_time_picture(*study.spec, results.points, study.capacity));
    write_picture(folder, "memory_time", more.back(), files);
  }
  if (results.executed) {
    more.push_back(executed_picture(study, *results.executed));
    write_picture(folder, "executed", more.back(), files);
  }
  write("report.html", html_of(report_of(results, more)));
  write_picture(folder, "boundaries", boundaries_picture(study), files);
  write_picture(folder, "epoch_time", epoch_time_picture(study), files);
  write_picture(folder, "memory", bucket_memory_picture(study), files);
  return files;
}

EpochExecution execution_of(const BucketsOptions& options) {
  return {.device = options.execute,
          .workers = options.workers,
          .host = options.host,
          .pin = options.pin,
          .allocation = enum_value<TensorAllocation>(options.allocate),
          .repetitions = options.repetitions};
}

BucketSpec load_study(const BucketsOptions& options) {
  BucketSpec spec = load_bucket_spec(options.spec);
  if (!options.machine.empty()) spec.scenario = text_on_machine(spec.scenario, options.machine);
  if (!options.execute.empty()) expect_executable(spec, execution_of(options));
  return spec;
}

FolderRequest folder_of(const BucketsOptions& options) {
  FolderUse use = options.overwrite ? FolderUse::overwrite : FolderUse::fresh;
  if (options.resume) use = FolderUse::resume;
  return {.target = options.out,
          .verb = "buckets",
          .use = use,
          .in_place = true,
          .growing = {study_progress_file}};
}

/// What is kept in the folder, which is begun.
StudyProgress open_progress(const BucketsOptions& options,
                            const BucketSpec& spec,
                            OutputFolder& folder) {
  const std::string request = options.execute.empty()
                                  ? std::string{}
                                  : fmt::format("{}, {} workers, host {}, {}{}",
                                                options.execute,
                                                options.workers,
                                                options.host,
                                                options.allocate,
                                                options.pin ? "" : ", not pinned");
  StudyProgress progress{folder.target() / study_progress_file, spec, request};
  if (folder.resumes()) progress.resume();
  folder.begin();
  progress.save();
  return progress;
}

void execute(const BucketsOptions& options,
             const Terminal& terminal,
             StudyProgress& kept,
             BucketResults& results) {
  const EpochExecution request = execution_of(options);
  Progress progress(
      terminal, executed_count(results.study) * request.repetitions, 0, "executed epochs");
  results.executed = execute_epochs(
      results.study, request, kept, terminal.stop, [&](std::uint64_t done, std::uint64_t all) {
        progress.set_total(all);
        progress.update(done);
      });
  progress.finish();
  results.complete = results.executed->complete;
}

BucketResults work_out(const BucketSpec& spec,
                       const BucketsOptions& options,
                       const Terminal& terminal,
                       StudyProgress& kept) {
  BucketResults results;
  Progress progress(terminal, row_count(spec), 0, "epochs");
  results.study = run_bucket_study(
      spec,
      terminal.stop,
      [&](std::uint64_t done, std::uint64_t) { progress.update(done); },
      &kept);
  progress.finish();
  results.complete = results.study.complete;
  try {
    if (results.complete && options.memory_time) {
      results.points = memory_time_points(spec, terminal.stop, &kept);
    }
  } catch (const Interrupted&) {
    results.complete = false;
  }
  try {
    if (results.complete && !options.no_sensitivity) {
      results.sensitivity = epoch_sensitivity(results.study, terminal.stop);
    }
  } catch (const Interrupted&) {  // the report is written without it
  }
  if (results.complete && !options.execute.empty()) execute(options, terminal, kept, results);
  kept.save();
  return results;
}

void print_stopped(const BucketsOptions& options,
                   const BucketResults& results,
                   const Terminal& terminal) {
  std::size_t runs = 0;
  if (results.executed) {
    for (const ExecutedEpoch& pass : results.executed->epochs) runs += pass.runs.size();
  }
  terminal.err << fmt::format(
      "stopped with {} of {} passes worked out and {} executed; they are kept\n  go on with: the "
      "same command and --resume\n",
      results.study.rows.size(),
      row_count(*results.study.spec),
      runs);
  if (options.overwrite) terminal.err << "  (in place of --overwrite)\n";
}

}  // namespace

int run(const BucketsOptions& options, const Terminal& terminal) {
  BucketSpec spec = load_study(options);
  resolve_batches(spec);
  OutputFolder folder(folder_of(options), terminal.leftovers);
  StudyProgress kept = open_progress(options, spec, folder);
  const BucketResults results = work_out(spec, options, terminal, kept);
  const RunFiles files = write_results(folder.path(), results);
  folder.publish(results.complete);
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (!results.complete) print_stopped(options, results, terminal);
  if (options.json) {
    terminal.out << bucket_json(results.study);
  } else {
    terminal.out << text_of(report_of(results, {}));
    terminal.out << fmt::format("{}: {}\n", options.out, fmt::join(files.files, ", "));
  }
  return results.complete ? exit_done : exit_failed;
}

}  // namespace schedlab
