// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_export.hpp"

#include "studies/sweep/notebook_export.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ExportOptions& options) {
  CLI::App* verb = app.add_subcommand("export", "Write results or traces for other programs");
  verb->add_option("FORMAT", options.format, "csv, npy, chrome, notebook, costs or xla_costs")
      ->check(CLI::IsMember(
          std::set<std::string>{"csv", "npy", "chrome", "notebook", "costs", "xla_costs"}))
      ->required();
  verb->add_option("INPUT",
                   options.input,
                   "Folder of a sweep or of a run, or trace.json; for a notebook also of a "
                   "validation or a recording; for costs a spec, the folder of a run, or a profile")
      ->required();
  verb->add_option(
      "-o,--out",
      options.out,
      fmt::format("File to write, of npy a folder; left out for a notebook: {} in the folder",
                  default_notebook));
  verb->add_option(
      "--scenario", options.scenario, "Of a sweep: the scenario whose trace is wanted");
  verb->add_flag("--overwrite",
                 options.overwrite,
                 "Replace a notebook, or a file in a folder of results, that was edited");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "csv of a sweep: one line per scenario; of a run, or with --scenario: one line per task.\n"
      "npy: the columns of a sweep's results as files that NumPy maps, listed in columns.json.\n"
      "chrome: the trace for Perfetto (ui.perfetto.dev) and chrome://tracing.\n"
      "notebook: a Jupyter notebook that reads the folder with pandas and draws with matplotlib.\n"
      "costs: operation and shape to microseconds, with cost_evidence, as CSV for schedulers of "
      "compilers.\n"
      "xla_costs: the same by name, as XLA's latency-hiding scheduler reads it (.pbtxt).");
  return verb;
}

}  // namespace schedlab
