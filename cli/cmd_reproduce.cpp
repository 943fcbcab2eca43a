// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_reproduce.hpp"

#include "studies/reproduction/published_system.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ReproduceOptions& options) {
  CLI::App* verb =
      app.add_subcommand("reproduce", "Hold a publication's numbers against simulations");
  verb->add_option("--system",
                   options.system,
                   fmt::format("Which one: {}, {}, or the path of a system file",
                               all_systems,
                               fmt::join(system_names(), ", ")))
      ->capture_default_str();
  verb->add_option("-o,--out",
                   options.out,
                   "Folder; reproduction_SYSTEM if left out, of all systems reproduction");
  verb->add_option("-j,--jobs", options.jobs, "Threads; 0: one per core")->capture_default_str();
  verb->add_flag("--quick", options.quick, "Smaller grids: fewer values of what is left open");
  auto* resume = verb->add_flag("--resume", options.resume, "Go on with the results in the folder");
  verb->add_flag("--overwrite", options.overwrite, "Replace the results in the folder")
      ->excludes(resume);
  verb->add_flag("--no-check", options.no_check, "Do not verify plans with the plan checker");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes reproduction.json, reproduction.csv, report.html and the sweeps behind them. What a\n"
      "publication leaves open is an axis: each row shows all values it may stand for. A number\n"
      "that is missed is a result, not a failure. Of all systems: one report.html, "
      "reproduction.md\n"
      "and reproduction.csv, and a folder for each.");
  return verb;
}

}  // namespace schedlab
