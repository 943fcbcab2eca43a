// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/run_files.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/operations_csv.hpp"
#include "notebooks_export/raster.hpp"
#include "notebooks_export/timeline.hpp"
#include "notebooks_export/timeline_viewer.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/memory_plan.hpp"
#include "sim/trace/metrics_json.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace schedlab {

void write_picture(const std::filesystem::path& folder,
                   const std::string& stem,
                   std::string_view svg,
                   RunFiles& files) {
  write_file_atomically(folder / (stem + ".svg"), svg);
  files.files.push_back(stem + ".svg");
  constexpr std::array<std::pair<RasterFormat, std::string_view>, 2> formats{
      {{RasterFormat::png, ".png"}, {RasterFormat::pdf, ".pdf"}}};
  for (const auto& [format, extension] : formats) {
    const std::string name = stem + std::string{extension};
    const RasterResult result = convert_svg(svg, folder / name, format);
    if (result.done) {
      files.files.push_back(name);
    } else {
      files.notices.push_back("no " + name + ": " + result.reason);
    }
  }
}

RunFiles write_run_files(const std::filesystem::path& folder,
                         const std::filesystem::path& target,
                         const WrittenRun& run,
                         const TraceDocument& document,
                         const Metrics& metrics) {
  RunFiles files;
  const auto write = [&](const std::string& name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.push_back(name);
  };
  const Samples none;
  if (run.with_trace) write("trace.json", chrome_json(document, metrics.memory));
  write("metrics.json",
        metrics_json(metrics,
                     run.problem,
                     run.plan,
                     document.title,
                     run.samples == nullptr ? none : *run.samples,
                     &document));
  write("plan.json", plan_to_json(run.plan, run.problem.graph));
  write(std::string{run_origin_name}, run_origin_json(run.origin, target));
  write("utilization.csv", utilization_csv(document));
  write("operations.csv", operations_csv(run.problem, document.trace));
  if (!metrics.memory.empty())
    write("memory.csv", memory_csv(metrics.memory, document.trace.ended));
  if (const auto memory = memory_plan(run.problem, run.plan, document.trace)) {
    write("memory_plan.json", memory_plan_json(*memory));
  }
  write_picture(folder, "timeline", run_timeline(document, metrics), files);
  if (run.with_trace) write("timeline.html", run_viewer(run.problem, run.plan, document, metrics));
  return files;
}

namespace {

std::vector<TaskId> path_of(const Metrics& metrics) {
  std::vector<TaskId> path;
  for (const PathStep& step : metrics.critical_path.steps) path.push_back(step.task);
  return path;
}

}  // namespace

std::string run_timeline(const TraceDocument& document, const Metrics& metrics) {
  TimelineOptions options;
  options.memory = &metrics.memory;
  options.mean_utilization = metrics.utilization;
  options.critical_path = path_of(metrics);
  return timeline_svg(document, options);
}

std::string run_viewer(const Problem& problem,
                       const Plan& plan,
                       const TraceDocument& document,
                       const Metrics& metrics) {
  const ViewedRun run{.document = &document,
                      .critical_path = path_of(metrics),
                      .releases = task_releases(problem, document.trace, {.plan = &plan}),
                      .memory = &metrics.memory};
  return timeline_html({&run, 1});
}

}  // namespace schedlab
