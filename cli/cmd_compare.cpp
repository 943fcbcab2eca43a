// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_compare.hpp"

#include "cli/percent_flag.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, CompareOptions& options) {
  CLI::App* verb = app.add_subcommand("compare", "Say what is different between two results");
  verb->add_option("FIRST",
                   options.first,
                   "A run (its folder, or trace.json), a profile of PyTorch, or the folder of a "
                   "sweep or a validation")
      ->required();
  verb->add_option("SECOND", options.second, "Another one of the same kind")->required();
  verb->add_option(
      "-o,--out", options.out, "Folder for compare.html, comparison.json and comparison.csv");
  verb->add_option("--max-slowdown",
                   options.max_slowdown,
                   "Per cent by which the second may take longer, any scenario of it likewise; "
                   "exit code 1 beyond it")
      ->transform(&without_percent_sign)
      ->check(CLI::Range(0.0, 1e6));
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Tasks are matched by number where both runs have the same graph, else by name and order of\n"
      "start; scenarios by the values of the axes that both have. Of a validation only scenarios\n"
      "whose 95 % intervals do not overlap count as slower.");
  return verb;
}

}  // namespace schedlab
