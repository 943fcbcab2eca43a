// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_sweep.hpp"

#include "cli/percent_flag.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, SweepOptions& options) {
  CLI::App* verb = app.add_subcommand("sweep", "Simulate a grid of scenarios and compare them");
  verb->add_option("SPEC", options.spec, "JSON spec; a list anywhere in it is an axis")->required();
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_option("-j,--jobs", options.jobs, "Threads; 0: one per core")->capture_default_str();
  auto* resume = verb->add_flag("--resume", options.resume, "Go on with the results in the folder");
  verb->add_flag("--overwrite", options.overwrite, "Replace the results in the folder")
      ->excludes(resume);
  verb->add_flag("--no-check", options.no_check, "Do not verify plans with the plan checker");
  verb->add_option("--timelines", options.timelines, "Timelines to draw: best, all or none")
      ->check(CLI::IsMember(std::set<std::string>{"best", "all", "none"}))
      ->capture_default_str();
  verb->add_option("--max-gap",
                   options.max_gap,
                   "Exit code 1 if the fastest policy of some case is more than this many percent "
                   "over its certified bound")
      ->transform(&without_percent_sign)
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes results.sqlite, results.csv, plots and report.html. Finished scenarios are kept "
      "when\n"
      "the run is interrupted; --resume does only what is missing. Results are the same for any "
      "-j.\nmpirun -n N schedlab sweep ... spreads the scenarios over N processes, -j threads "
      "each.");
  return verb;
}

}  // namespace schedlab
