// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_import.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ImportOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "import", "Read profiles and graphs of other programs: what they hold, what is odd");
  verb->add_option(
          "TRACE",
          options.inputs,
          "Traces of the PyTorch profiler or binary Chakra traces (several: one per rank), "
          "trace.json of a run, or one graph: execution trace, Chakra, WfFormat, DOT, STG")
      ->required();
  verb->add_option("--execution-trace",
                   options.execution_trace,
                   "Of one profile: the execution trace (*.et.json) of the same run, whose shapes "
                   "and dependencies the graph gets");
  verb->add_flag("--assume-like-siblings",
                 options.assume_like_siblings,
                 "Of profiles: fill in the nodes that launches of graphs lack, as the median of "
                 "their siblings");
  auto* out = verb->add_option("-o,--out", options.out, "Folder to write");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use")
      ->needs(out);
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "With --out: import.json, graph.json (work and who waits for whom, for every other verb), "
      "and "
      "of\nprofiles plan.json (the calls as they were made) and activities.csv; one graph and plan "
      "per rank.");
  return verb;
}

}  // namespace schedlab
