// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_validate.hpp"

#include "studies/execution/execution_device.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>
#include <vector>

namespace schedlab {
namespace {

/// What is measured, or was.
void add_device_options(CLI::App& verb, ValidateOptions& options) {
  auto* device =
      verb.add_option("--device", options.device, "What runs the plans: " + device_choices());
  verb.add_option(
      "--workers", options.workers, "Worker threads; 0: as the machine was calibrated with");
  verb.add_option("--host", options.host, "Where the thread runs that makes the host calls")
      ->check(CLI::IsMember(enum_names<HostPlacement>()));
  verb.add_option("--proxy", options.proxy, "Proxy kernels instead of the real kernels")
      ->check(CLI::IsMember(std::vector<std::string>{"spin", "shapes"}));
  verb.add_option("--allocate", options.allocate, "When lstm and gru take their tensors' memory")
      ->check(CLI::IsMember(enum_names<TensorAllocation>()))
      ->capture_default_str();
  verb.add_option("--connections", options.connections, "CUDA: hardware connections, on both sides")
      ->check(CLI::Range(1U, 32U));
  verb.add_option(
          "--precision", options.precision, "CUDA: arithmetic of matrix products, on both sides")
      ->check(CLI::IsMember(enum_names<CudaPrecision>()));
  verb.add_option(
          "--products", options.products, "CUDA: what multiplies matrices; cublas if left out")
      ->check(CLI::IsMember(enum_names<CudaProducts>()));
  verb.add_option(
      "--launch", options.launch, "Instead of the spec's launch: eager, without device graphs");
  verb.add_flag("!--no-pin", options.pin, "Do not bind threads to cores");
  verb.add_option("--recording", options.recording, "Folder of a recording, instead of a device")
      ->excludes(device);
  verb.add_option(
      "--machine", options.machine, "Calibrated machine file, instead of the spec's machine");
}

/// How much is measured and drawn.
void add_run_options(CLI::App& verb, ValidateOptions& options) {
  verb.add_option("--repetitions", options.repetitions, "Interleaved runs of each scenario")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb.add_option("--warm-up", options.warm_up, "Rounds before them that are not kept")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  verb.add_option("--draws", options.draws, "Simulations behind the prediction intervals")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  verb.add_option("--seed", options.seed, "Of the order of runs, draws and bootstrap")
      ->capture_default_str();
  verb.add_option("--kept-traces", options.kept_traces, "Traces of each scenario to keep")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_flag("--predict-only",
                options.predict_only,
                "Write predictions.csv and measure nothing; --device says for what");
  verb.add_option("--timeline", options.timeline, "Scenario to draw; else the worst predicted");
}

/// What must hold for exit code 0.
void add_bounds(CLI::App& verb, ValidateOptions& options) {
  verb.add_option("--max-median-error", options.max_median_error, "Bound, such as 5%");
  verb.add_option("--max-p90-error", options.max_p90_error, "Bound, such as 12%");
  verb.add_option("--min-order",
                  options.min_order,
                  "Least share of decidable pairs in the right order, such as 100%");
  verb.add_option("--require",
                  options.require,
                  "Evidence that kernel times of predictions must have: calibrated")
      ->check(CLI::IsMember(std::set<std::string>{"data_sheet", "calibrated"}));
  verb.add_option(
      "--min-coverage", options.min_coverage, "Least share of medians within the 90 % intervals");
}

}  // namespace

CLI::App* add_to(CLI::App& app, ValidateOptions& options) {
  CLI::App* verb =
      app.add_subcommand("validate", "Simulate and measure a grid of scenarios, then compare");
  verb->add_option("SPEC", options.spec, "JSON spec; a list anywhere in it is an axis")->required();
  add_device_options(*verb, options);
  verb->add_option("-o,--out", options.out, "Folder for the results")->required();
  verb->add_option("--record", options.record, "Folder to keep the measurements in, for replay");
  verb->add_option(
      "--baseline",
      options.baseline,
      "baseline.json of schedlab baseline: compare the plans with a library's routine");
  verb->add_option("--turns",
                   options.turns,
                   "With --baseline: the fastest plan and the library so often in turns, 50 for a "
                   "figure to quote; 0: not at all")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  add_run_options(*verb, options);
  add_bounds(*verb, options);
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes validation.json, scenarios.csv, pairs.csv, runs.csv, report.html, with --baseline\n"
      "library.csv, pictures and\n"
      "trace.json (simulated and measured run as two processes, for Perfetto). Exit code 1 if a\n"
      "given bound is not kept; errors are judged within the calibrated range.");
  return verb;
}

}  // namespace schedlab
