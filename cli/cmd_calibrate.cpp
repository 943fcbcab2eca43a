// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_calibrate.hpp"

#include "studies/execution/execution_device.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, CalibrateOptions& options) {
  CLI::App* verb =
      app.add_subcommand("calibrate", "Measure this computer and write a machine file");
  verb->add_option("--device",
                   options.device,
                   "What to measure: " + device_choices() +
                       "; of a CUDA device a device report is written beside FILE, too")
      ->capture_default_str();
  verb->add_option(
          "-o,--out", options.out, "Machine file to write, .json; an older one is replaced")
      ->required();
  verb->add_option("--name", options.name, "Name of the machine; without: cpu, or gpu");
  verb->add_option("--workers", options.workers, "Cores that run kernels; 0 = all")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--base",
                   options.base,
                   "cuda: the machine that the device is compared with, and whose numbers stay "
                   "where nothing is measured; without: by the device's name");
  verb->add_option("--connections",
                   options.connections,
                   "cuda: hardware connections of this run; 0 = CUDA's own choice")
      ->check(CLI::Range(0, 32))
      ->capture_default_str();
  verb->add_option(
          "--products", options.products, "cuda: what multiplies matrices; cublas if left out")
      ->check(CLI::IsMember(enum_names<CudaProducts>()));
  verb->add_option("--from",
                   options.from,
                   "Tables of measured operators (CSV, plain or gzip), instead of a device: the "
                   "cost models of --machine are fitted to them; a report is written beside FILE")
      ->check(CLI::ExistingFile);
  verb->add_option("--transfer",
                   options.transfer,
                   "Machines with fitted products in bf16, oldest generation first: these are "
                   "carried over to --machine by its data sheet, and nothing is measured")
      ->excludes("--from");
  verb->add_option(
          "--shapes",
          options.shapes,
          "Writes a table of so many products without times instead: the shapes to measure "
          "on a device that is like a known one")
      ->check(CLI::Range(1, 490));
  verb->add_option(
      "--machine", options.machine, "With --from and --transfer: the machine that is calibrated");
  verb->add_flag("--quick", options.quick, "Half of the shapes, under a minute on two cores");
  verb->add_option("--seconds",
                   options.seconds,
                   "cpu: about how long to measure; 0 = 32 with --quick, 200 without. Less time, "
                   "larger errors")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Let nothing else run meanwhile. Specs then name the file as their machine; kernels are cut\n"
      "as it says, and the cost model \"measured\" is the default. See docs/calibration.md.");
  return verb;
}

}  // namespace schedlab
