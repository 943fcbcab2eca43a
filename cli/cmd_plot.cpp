// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_plot.hpp"

#include "cli/trace_input.hpp"
#include "notebooks_export/raster.hpp"
#include "notebooks_export/timeline.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace schedlab {
namespace {

void write_as(const std::filesystem::path& out, const std::string& svg) {
  const std::string extension = out.extension().string();
  if (extension == ".svg") {
    write_file_atomically(out, svg);
    return;
  }
  if (extension != ".png" && extension != ".pdf") {
    throw InputError({.file = "--out",
                      .pointer = {},
                      .found = fmt::format("\"{}\"", out.string()),
                      .expected = "a name that ends in .svg, .png or .pdf",
                      .hint = {}});
  }
  const RasterResult result =
      convert_svg(svg, out, extension == ".png" ? RasterFormat::png : RasterFormat::pdf);
  if (!result.done) {
    throw InfeasibleError(
        fmt::format("{}: {}\n  .svg needs no converter", out.string(), result.reason));
  }
}

}  // namespace

CLI::App* add_to(CLI::App& app, PlotOptions& options) {
  CLI::App* verb = app.add_subcommand("plot", "Draw the timeline of a run");
  verb->add_option("INPUT", options.input, "Folder of a run, or its trace.json")->required();
  verb->add_option("-o,--out", options.out, "Picture: .svg, .png or .pdf")->required();
  verb->add_option("--width", options.width, "Width in pixels")
      ->check(CLI::Range(300.0, 20000.0))
      ->capture_default_str();
  verb->add_flag("--json", options.json, std::string{json_help});
  return verb;
}

int run(const PlotOptions& options, const Terminal& terminal) {
  const TraceDocument document = load_trace(options.input);
  TimelineOptions timeline;
  timeline.width = options.width;
  write_as(options.out, timeline_svg(document, timeline));
  if (options.json) {
    const nlohmann::ordered_json summary{{"verb", "plot"},
                                         {"title", document.title},
                                         {"tasks", document.trace.tasks.size()},
                                         {"out", options.out}};
    terminal.out << summary.dump(2) << '\n';
  } else {
    terminal.out << options.out << '\n';
  }
  return exit_done;
}

}  // namespace schedlab
