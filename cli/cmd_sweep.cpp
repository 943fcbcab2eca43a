// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_sweep.hpp"

#include "cli/percent_flag.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace schedlab {
namespace {

/// What the results of a sweep are drawn and judged with.
template <class Options>
void add_results(CLI::App& verb, Options& options) {
  verb.add_option("--timelines", options.timelines, "Timelines to draw: best, all or none")
      ->check(CLI::IsMember(std::set<std::string>{"best", "all", "none"}))
      ->capture_default_str();
  verb.add_flag("--no-sensitivity",
                options.no_sensitivity,
                "Report without how far the machine's numbers can be off in the closest case");
  verb.add_option("--max-gap",
                  options.max_gap,
                  "Exit code 1 if the fastest policy of some case is more than this many percent "
                  "over its certified bound")
      ->transform(&without_percent_sign)
      ->check(CLI::NonNegativeNumber);
  verb.add_option(
          "--require",
          options.require,
          "Exit code 1 if kernel times rest on less evidence (cost_evidence) than this: calibrated")
      ->check(CLI::IsMember(std::set<std::string>{"data_sheet", "calibrated"}));
  verb.add_flag("--json", options.json, std::string{json_help});
}

}  // namespace

CLI::App* add_to(CLI::App& app, SweepOptions& options) {
  CLI::App* verb = app.add_subcommand("sweep", "Simulate a grid of scenarios and compare them");
  verb->add_option("SPEC", options.spec, "JSON spec; a list anywhere in it is an axis")->required();
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_option("-j,--jobs", options.jobs, "Threads; 0: one per core")->capture_default_str();
  auto* resume = verb->add_flag("--resume", options.resume, "Go on with the results in the folder");
  verb->add_flag("--overwrite", options.overwrite, "Replace the results in the folder")
      ->excludes(resume);
  verb->add_flag("--no-check", options.no_check, "Do not verify plans with the plan checker");
  verb->add_option("--shard",
                   options.shard,
                   "Run one part of the scenarios, as 3/64; 64 within a job array of Slurm, PBS or "
                   "SGE. Rows go to OUT/shard_3_of_64; merge puts all together");
  verb->add_option("--time-limit",
                   options.time_limit,
                   "Seconds after which to keep what is done and leave with exit code 75")
      ->check(CLI::NonNegativeNumber);
  auto* submit = verb->add_option("--submit",
                                  options.submit,
                                  "Print the batch script of a job array with a shard per task, "
                                  "and run nothing: slurm, pbs or sge")
                     ->check(CLI::IsMember(std::set<std::string>{"slurm", "pbs", "sge"}));
  verb->add_flag("--print", options.print, "What --submit does anyway")->needs(submit);
  verb->add_option("--shards", options.shards, "Shards of that script")
      ->needs(submit)
      ->check(CLI::Range(1, 1'000'000));
  add_results(*verb, options);
  verb->footer(
      "Writes results.sqlite, results.csv, plots and report.html. Finished scenarios are kept "
      "when\n"
      "the run is interrupted; --resume does only what is missing. Results are the same for any "
      "-j.\nmpirun -n N schedlab sweep ... spreads the scenarios over N processes, -j threads "
      "each.\nSIGTERM and SIGUSR1 end it as --time-limit does.");
  return verb;
}

CLI::App* add_to(CLI::App& app, MergeOptions& options) {
  CLI::App* verb = app.add_subcommand("merge", "Put the shards of a sweep together");
  verb->add_option("SPEC", options.spec, "JSON spec of the sweep")->required();
  verb->add_option("FOLDER",
                   options.folders,
                   "Folders of shards, or folders in which they are: the OUT of sweep --shard")
      ->required();
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_flag("--overwrite", options.overwrite, "Replace the results in the folder");
  add_results(*verb, options);
  verb->footer(
      "Writes what sweep without --shard writes, results.csv byte by byte. Nothing is written\n"
      "unless every scenario is there once; missing shards are named.");
  return verb;
}

}  // namespace schedlab
