// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_baseline.hpp"

#include "studies/execution/baseline.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, BaselineOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "baseline", "Time a vendor library's own recurrent networks on the workloads of a spec");
  verb->add_option("SPEC",
                   options.spec,
                   "JSON file; policies in it do not matter, nor machines but for CLBlast")
      ->required();
  verb->add_option("-o,--out", options.out, "Folder to write")->required();
  const auto& names = enum_names<RnnLibrary>();
  auto* library =
      verb->add_option("--library", options.library, fmt::format("{}", fmt::join(names, " or ")))
          ->check(CLI::IsMember(std::set<std::string>(names.begin(), names.end())));
  verb->add_option("--device",
                   options.device,
                   "In place of --library: that of cpu, cuda, opencl or opencl:N")
      ->excludes(library);
  verb->add_option(
      "--machine",
      options.machine,
      "Calibrated machine file with CLBlast's parameters, instead of the spec's machine");
  verb->add_option("--repetitions", options.repetitions, "Timed runs of each variant")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  verb->add_option("--warm-up", options.warm_up, "Runs before them")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  verb->add_option("--threads", options.threads, "Of a library for the CPU; 0: one for each core")
      ->capture_default_str();
  verb->add_option("--seed", options.seed, "Of inputs and weights")->capture_default_str();
  verb->add_flag("--check",
                 options.check,
                 "Compare all outputs with a double-precision reference first (slow)");
  verb->add_flag("--profile",
                 options.profile,
                 "cudnn: record one run of each variant instead of timing them: how many kernels "
                 "run at once, and kineto.json.gz");
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder");
  verb->add_flag("--json", options.json, std::string{json_help});
  return verb;
}

}  // namespace schedlab
