// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_sensitivity.hpp"

#include "cli/percent_flag.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, SensitivityOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "sensitivity", "Which numbers of the machine matter, and which would turn the order");
  verb->add_option("SPEC", options.spec, "JSON spec of one case; \"policy\" may be a list")
      ->required();
  verb->add_option("-o,--out", options.out, "Folder for sensitivity.json and report.html");
  verb->add_option("--step", options.step, "Per cent by which numbers are changed for derivatives")
      ->transform(&without_percent_sign)
      ->check(CLI::Range(0.01, 50.0))
      ->capture_default_str();
  verb->add_option("--range", options.range, "Factor up to which a change of the order is sought")
      ->check(CLI::Range(1.01, 100.0))
      ->capture_default_str();
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "One number of the machine file changes at a time, fitted parameters too; the workload and\n"
      "the policies' options stay. Elasticity: per cent of the makespan for 1 % more of a number.");
  return verb;
}

}  // namespace schedlab
