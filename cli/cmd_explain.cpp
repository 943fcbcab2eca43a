// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_explain.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ExplainOptions& options) {
  CLI::App* verb =
      app.add_subcommand("explain", "Say who waits for whom in a run, and what if not");
  verb->add_option("RUN",
                   options.input,
                   "Folder of simulate, execute or validate, a trace.json, or a "
                   "profile of PyTorch (Kineto JSON, also gzipped)")
      ->required();
  verb->add_option("-o,--out", options.out, "Folder for tables, report and picture");
  verb->add_flag("--what-if", options.what_if, "Simulate the run again with changes");
  verb->add_option("--against",
                   options.against,
                   "Another run of the same workload: what is different, in words");
  verb->add_option("--bins", options.bins, "Slices of the makespan")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  verb->add_option("--within",
                   options.within,
                   "Of a profile: the annotation or operator whose critical path is found");
  verb->add_option("--instance", options.instance, "Which of that name, from 0")
      ->capture_default_str();
  verb->add_flag("--assume-like-siblings",
                 options.assume_like_siblings,
                 "Of a profile: fill in the nodes that launches of graphs lack, as the median of "
                 "their siblings");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes explain.json, explain.csv (every gap of every stream by cause), report.html and\n"
      "bound.svg; of a profile also kernels.csv, operator_path.json and "
      "critical_path_overlay.json\n"
      "(for Perfetto). docs/explain.md defines each word.");
  return verb;
}

}  // namespace schedlab
