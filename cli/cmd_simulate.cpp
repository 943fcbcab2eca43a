// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_simulate.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, SimulateOptions& options) {
  CLI::App* verb = app.add_subcommand("simulate", "Simulate one scenario, with pictures");
  verb->add_option("SPEC", options.spec, "JSON spec of one scenario (no lists)")->required();
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--allow-findings",
                 options.allow_findings,
                 "Exit code 0 although the plan checker found something");
  verb->add_flag("--no-trace",
                 options.no_trace,
                 "Write no trace.json, which has some 600 bytes a task (explain and plot need it), "
                 "and no timeline.html");
  verb->add_option(
          "--require",
          options.require,
          "Exit code 1 if kernel times rest on less evidence (cost_evidence) than this: calibrated")
      ->check(CLI::IsMember(std::set<std::string>{"data_sheet", "calibrated"}));
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes trace.json (open it in Perfetto or chrome://tracing), metrics.json, plan.json, "
      "run.json,\n"
      "timeline.svg, timeline.html and utilization.csv. The plan is checked by code that did not "
      "make it.");
  return verb;
}

}  // namespace schedlab
