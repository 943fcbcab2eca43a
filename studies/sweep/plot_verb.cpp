// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/plot_verb.hpp"

#include "notebooks_export/raster.hpp"
#include "notebooks_export/sweep_heat.hpp"
#include "notebooks_export/timeline_viewer.hpp"
#include "notebooks_export/timelines.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/results_store.hpp"
#include "studies/sweep/sweep_run.hpp"
#include "studies/sweep/trace_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

/// A file as --out names it, or `name`.svg in the folder that it names.
std::filesystem::path picture_file(const std::string& out, const char* name) {
  const bool folder = out.ends_with('/') || std::filesystem::is_directory(out);
  if (folder) make_folder(out);
  return folder ? std::filesystem::path{out} / (std::string{name} + ".svg")
                : std::filesystem::path{out};
}

void write_picture_file(const std::filesystem::path& out, const std::string& svg) {
  const std::string extension = out.extension().string();
  if (extension == ".svg") {
    write_file_atomically(out, svg);
    return;
  }
  if (extension != ".png" && extension != ".pdf") {
    throw InputError(
        {.file = "--out",
         .pointer = {},
         .found = fmt::format("\"{}\"", out.string()),
         .expected = "a name that ends in .svg, .png or .pdf (of runs also .html), or a folder",
         .hint = "a folder that is not there yet ends in /"});
  }
  const RasterResult result =
      convert_svg(svg, out, extension == ".png" ? RasterFormat::png : RasterFormat::pdf);
  if (!result.done) {
    throw InfeasibleError(
        fmt::format("{}: {}\n  .svg needs no converter", out.string(), result.reason));
  }
}

void write_as(const std::filesystem::path& out, const std::string& svg) {
  write_named_file(out, [&](const std::filesystem::path& file) { write_picture_file(file, svg); });
}

/// The parts of "a,b,c".
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream{list};
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

HeatMapOptions map_options(const PlotOptions& options) {
  HeatMapOptions map{.policy = options.policy,
                     .over = options.over,
                     .metric = options.metric,
                     .x = options.x,
                     .y = options.y,
                     .panels = parts_of(options.panels),
                     .at = {}};
  for (const std::string& part : parts_of(options.at)) {
    const std::size_t sign = part.find('=');
    if (sign == std::string::npos) {
      throw InputError({.file = "--at",
                        .pointer = {},
                        .found = fmt::format("\"{}\"", part),
                        .expected = "axis=value, several with commas between",
                        .hint = {}});
    }
    map.at[part.substr(0, sign)] = part.substr(sign + 1);
  }
  return map;
}

void print_summary(const Terminal& terminal,
                   const PlotOptions& options,
                   const std::filesystem::path& out,
                   const std::string& title,
                   const char* unit,
                   std::size_t count) {
  if (!options.json) {
    terminal.out << out.string() << '\n';
    return;
  }
  const nlohmann::ordered_json summary{
      {"verb", "plot"}, {"title", title}, {unit, count}, {"out", out.string()}};
  terminal.out << summary.dump(2) << '\n';
}

/// The critical path as the metrics beside a trace have it; empty where there are none.
std::vector<TaskId> recorded_path(const std::filesystem::path& input,
                                  const TraceDocument& document) {
  const auto folder = std::filesystem::is_directory(input) ? input : input.parent_path();
  const std::filesystem::path file = folder / "metrics.json";
  if (!std::filesystem::is_regular_file(file)) return {};
  const auto metrics = nlohmann::json::parse(read_file(file), nullptr, false);
  const nlohmann::json::json_pointer pointer{"/critical_path/tasks"};
  if (metrics.is_discarded() || !metrics.contains(pointer)) return {};
  std::set<std::string> names;
  for (const nlohmann::json& step : metrics.at(pointer)) {
    if (step.is_object() && step.contains("task") && step.at("task").is_string()) {
      names.insert(step.at("task").get<std::string>());
    }
  }
  std::vector<TaskId> path;
  for (const TaskId task : document.tasks.ids()) {
    if (names.contains(document.tasks[task].name)) path.push_back(task);
  }
  return path;
}

int draw_map(const PlotOptions& options, const Terminal& terminal) {
  const ResultsStore store =
      ResultsStore::open(std::filesystem::path{options.inputs.front()} / results_database);
  SweepViewOptions view_options;
  for (const ResultsStore::Column& column : store.columns()) {
    if (column.path.starts_with("/policy/")) view_options.policy_axes.push_back(column.name);
  }
  const Table table = results_table(store, std::nullopt, std::numeric_limits<std::uint64_t>::max());
  const SweepView view(table, view_options);
  const HeatFigure figure = heat_map(view, map_options(options));
  const std::filesystem::path out = picture_file(options.out, "map");
  write_as(out, heat_figure_svg(figure));
  print_summary(terminal, options, out, figure.title, "panels", figure.panels.size());
  return exit_done;
}

/// The part of the runs that --from and --to name. Throws InputError if nothing is there.
std::optional<TimelineWindow> window_of(const PlotOptions& options,
                                        const std::vector<TraceDocument>& documents) {
  if (options.from <= 0 && options.to < 0) return std::nullopt;
  Duration end{0};
  for (const TraceDocument& document : documents) end = std::max(end, document.trace.makespan());
  const TimelineWindow window{from_us(options.from), options.to < 0 ? end : from_us(options.to)};
  if (window.from >= std::min(window.to, end)) {
    throw InputError(
        {.file = "--from, --to",
         .pointer = {},
         .found = fmt::format("{:g} us to {:g} us", options.from, to_us(window.to)),
         .expected = fmt::format("a part of the run, which takes {:.3f} us", to_us(end)),
         .hint = {}});
  }
  return window;
}

}  // namespace

int run(const PlotOptions& options, const Terminal& terminal) {
  const auto& inputs = options.inputs;
  if (inputs.size() == 1 &&
      std::filesystem::exists(std::filesystem::path{inputs.front()} / results_database)) {
    return draw_map(options, terminal);
  }
  std::vector<TraceDocument> documents;
  std::size_t tasks = 0;
  for (const std::string& input : inputs) {
    documents.push_back(load_trace(input));
    tasks += documents.back().trace.tasks.size();
  }
  TimelineOptions timeline;
  timeline.width = options.width;
  timeline.window = window_of(options, documents);
  const bool one = documents.size() == 1;
  if (one) timeline.critical_path = recorded_path(inputs.front(), documents.front());
  const std::filesystem::path out = picture_file(options.out, "timeline");
  if (out.extension() == ".html") {
    std::vector<ViewedRun> runs;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      runs.push_back(
          {.document = &documents[i], .critical_path = recorded_path(inputs[i], documents[i])});
    }
    write_named_file(out, [&](const std::filesystem::path& file) {
      write_file_atomically(file, timeline_html(runs));
    });
    print_summary(terminal, options, out, documents.front().title, "tasks", tasks);
    return exit_done;
  }
  write_as(out,
           one ? timeline_svg(documents.front(), timeline) : timelines_svg(documents, timeline));
  print_summary(terminal, options, out, documents.front().title, "tasks", tasks);
  return exit_done;
}

}  // namespace schedlab
