// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_search.hpp"

#include "cli/percent_flag.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, SearchVerbOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "search", "Search for the best schedule, and bound how far it can be beaten");
  verb->add_option("SPEC",
                   options.spec,
                   "JSON spec of one case; policies are where to begin, launch modes and "
                   "ways to cut the workload are chosen from")
      ->required();
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_option("--seconds", options.seconds, "Stop after so long; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--evaluations", options.evaluations, "Stop after so many plans; 0: no limit")
      ->capture_default_str();
  verb->add_option("--gap",
                   options.gap,
                   "Stop once the plan is at most this many percent over its certified bound")
      ->transform(&without_percent_sign)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--max-gap",
                   options.max_gap,
                   "Exit code 1 if the plan found is more than this many percent over its bound")
      ->transform(&without_percent_sign)
      ->check(CLI::NonNegativeNumber);
  verb->add_option(
          "--require",
          options.require,
          "Exit code 1 if kernel times rest on less evidence (cost_evidence) than this: calibrated")
      ->check(CLI::IsMember(std::set<std::string>{"data_sheet", "calibrated"}));
  verb->add_option("--seed", options.seed, "Seed of the moves")->capture_default_str();
  verb->add_option("--max-streams", options.max_streams, "Most streams that a move opens")
      ->check(CLI::Range(1U, 65535U))
      ->capture_default_str();
  verb->add_option("-j,--jobs", options.jobs, "Searches side by side, which exchange plans")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  verb->add_option("--samples",
                   options.samples,
                   "Score each plan on so many draws of a machine that scatters (the spec's "
                   "variability); 0: on the nominal one")
      ->check(CLI::Range(0U, 100000U))
      ->capture_default_str();
  verb->add_option(
          "--objective", options.objective, "What to make small over the samples: mean or p90")
      ->check(CLI::IsMember(std::set<std::string>{"mean", "p90"}))
      ->capture_default_str();
  verb->add_option("--resume", options.resume, "Folder of an earlier search to go on from");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Begins with the plans of the spec's policies and of all that can plan its workload, and is "
      "never\nworse than the best of them. Writes plan.json (policy plan_file runs it), "
      "search.json "
      "with the\nbounds and their witnesses, improvements.csv and search.svg. Without --seconds "
      "the "
      "same seed and\nnumber of evaluations give the same plan.\nmpirun -n N schedlab search ... "
      "searches on N processes, -j threads each, which exchange plans.");
  return verb;
}

}  // namespace schedlab
