// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_plan_parallel.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, PlanParallelOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "plan-parallel",
      "Replicas, stages, schedule and more: the fastest way to train a model on N devices");
  verb->add_option("SPEC", options.spec, "JSON file (schedlab schema parallel)")->required();
  verb->add_option("-o,--out", options.out, "Folder for the results and best.json");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Simulates the choices whose lower bound is not above the best, and ranks them; best.json "
      "is\n"
      "a spec for simulate. docs/plan_parallel.md says what is searched and proven.");
  return verb;
}

}  // namespace schedlab
