// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_buckets.hpp"

#include "cli/buckets/bucket_files.hpp"
#include "cli/buckets/bucket_study.hpp"
#include "cli/buckets/memory_time.hpp"
#include "cli/output_folder.hpp"
#include "cli/progress.hpp"
#include "cli/run_files.hpp"
#include "cli/version.hpp"
#include "notebooks_export/csv.hpp"
#include "sim/base/file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

RunFiles write_study(const std::filesystem::path& folder,
                     const BucketStudy& study,
                     const std::vector<MemoryTimePoint>& points) {
  RunFiles files;
  const auto write = [&](const char* name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.emplace_back(name);
  };
  write("buckets.json", bucket_json(study));
  write("buckets.csv", table_csv(bucket_table(study)));
  std::vector<std::string> more;
  if (!points.empty()) {
    write("memory_time.csv", table_csv(memory_time_table(points)));
    more.push_back(memory_time_picture(*study.spec, points, study.capacity));
  }
  write("report.html", bucket_html(study, fmt::format("schedlab {}", program_version()), more));
  write_picture(folder, "boundaries", boundaries_picture(study), files);
  write_picture(folder, "pass_time", pass_time_picture(study), files);
  write_picture(folder, "memory", bucket_memory_picture(study), files);
  if (!more.empty()) write_picture(folder, "memory_time", more.front(), files);
  return files;
}

}  // namespace

CLI::App* add_to(CLI::App& app, BucketsOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "buckets", "Work out passes over sequences of different lengths: buckets, batches, memory");
  verb->add_option("SPEC", options.spec, "JSON file (schedlab schema buckets)")->required();
  verb->add_option("-o,--out", options.out, "Folder to write")->required();
  verb->add_flag("!--no-memory-time", options.memory_time, "Leave out what memory buys");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes buckets.json, buckets.csv, report.html and pictures of boundaries, time and memory; "
      "for lstm\n"
      "and gru also memory_time.csv: what recomputation and batch cost in memory and time.\n"
      "docs/buckets.md says how boundaries are placed and what counts.");
  return verb;
}

int run(const BucketsOptions& options, const Terminal& terminal) {
  BucketSpec spec = load_bucket_spec(options.spec);
  resolve_batches(spec);
  OutputFolder folder(options.out, options.overwrite);
  Progress progress(terminal, row_count(spec), 0, "passes");
  const BucketStudy study = run_bucket_study(
      spec, terminal.stop, [&](std::uint64_t done, std::uint64_t) { progress.update(done); });
  progress.finish();
  const std::vector<MemoryTimePoint> points = options.memory_time
                                                  ? memory_time_points(spec, terminal.stop)
                                                  : std::vector<MemoryTimePoint>{};
  const RunFiles files = write_study(folder.path(), study, points);
  folder.publish();
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (options.json) {
    terminal.out << bucket_json(study);
  } else {
    terminal.out << bucket_text(study)
                 << fmt::format("{}: {}\n", options.out, fmt::join(files.files, ", "));
  }
  return exit_done;
}

}  // namespace schedlab
