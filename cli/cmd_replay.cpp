// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_replay.hpp"

#include "studies/explanation/replay_change.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ReplayOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "replay", "Simulate a profile again, say how far off that is, and what changes would give");
  verb->add_option("TRACE",
                   options.traces,
                   "Profile of PyTorch (Kineto JSON, also gzipped); several: ranks of one job")
      ->required();
  verb->add_option(
          "--mode", options.mode, "copied_launches, copied_host_work, generated_host, calibrated")
      ->capture_default_str();
  verb->add_option("--strength", options.mode)->group("");  // the former name of --mode
  std::string forms =
      "A change to simulate, or several at once with commas between them; may be repeated:";
  for (const ChangeForm& form : change_forms()) forms += fmt::format(" {};", form.form);
  forms.back() = '.';
  verb->add_option("--what-if", options.what_if, forms)->allow_extra_args(false);
  verb->add_flag("--despite-error",
                 options.despite_error,
                 "Simulate changes although the replay is more than 10 % off the profile");
  verb->add_flag("--assume-like-siblings",
                 options.assume_like_siblings,
                 "Fill in the nodes that launches of graphs lack, as the median of their siblings");
  verb->add_option("--execution-trace",
                   options.execution_trace,
                   "Execution trace (*.et.json) of the same run: policy=NAME plans with its "
                   "dependencies instead of the order of the streams");
  verb->add_option("-o,--out", options.out, "Folder for tables and traces");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  std::string footer =
      "Writes replay.json, items.csv (each activity as measured and as replayed), trace.json,\n"
      "imported_trace.json, plan.json; with changes what_if.csv and a trace of each\n"
      "(what_if_1.json, ...). Changes, as in --what-if host=0.5,streams=1:";
  for (const ChangeForm& form : change_forms()) {
    footer += fmt::format("\n  {:22} {}", form.form, form.does);
  }
  verb->footer(footer);
  return verb;
}

}  // namespace schedlab
