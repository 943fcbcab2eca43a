// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_partition.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, PartitionOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "partition", "Put the layers of a model on the stages of a pipeline, evenly and legally");
  verb->add_option("SPEC", options.spec, "JSON file (schedlab schema partition)")->required();
  verb->add_option("-o,--out", options.out, "Folder to write")->required();
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes partition.json, layers.json, and pictures of the layers and of the stages' loads.\n"
      "docs/pipeline_partition.md says what a load is, and how stages are found.");
  return verb;
}

}  // namespace schedlab
