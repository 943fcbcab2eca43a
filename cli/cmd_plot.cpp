// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_plot.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, PlotOptions& options) {
  CLI::App* verb =
      app.add_subcommand("plot", "Draw timelines of runs, or a map of a sweep over two axes");
  verb->add_option("INPUT",
                   options.inputs,
                   "Folder of a run, or a trace.json; several are drawn beneath each other over "
                   "one time axis. Or the folder of a sweep")
      ->required();
  verb->add_option(
          "-o,--out",
          options.out,
          "Picture: .svg, .png or .pdf, or .html to explore runs; a folder gets timeline.svg "
          "or map.svg")
      ->required();
  verb->add_option("--width", options.width, "Width of a timeline in pixels")
      ->check(CLI::Range(300.0, 20000.0))
      ->capture_default_str();
  verb->add_option("--from", options.from, "Where a timeline begins, in us of the run")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--to", options.to, "Where it ends, in us; if left out, the end of the run")
      ->check(CLI::PositiveNumber);
  const std::string map = "Map of a sweep";
  verb->add_option("--policy", options.policy, "Policy whose metric is shown")->group(map);
  verb->add_option("--over", options.over, "Policy it is divided by")->group(map);
  verb->add_option("--metric", options.metric, "Column")->capture_default_str()->group(map);
  verb->add_option("--x", options.x, "Axis across; if left out, one with many values")->group(map);
  verb->add_option("--y", options.y, "Axis upwards")->group(map);
  verb->add_option("--panels", options.panels, "Axes with a map for each value, with commas")
      ->group(map);
  verb->add_option("--at", options.at, "Only these: axis=value, with commas")->group(map);
  verb->add_flag("--json", options.json, std::string{json_help});
  return verb;
}

}  // namespace schedlab
