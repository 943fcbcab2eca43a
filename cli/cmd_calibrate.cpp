// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_calibrate.hpp"

#include "calibration/calibration.hpp"
#include "calibration/calibration_text.hpp"
#include "calibration/device_calibration.hpp"
#include "calibration/device_report.hpp"
#include "calibration/micro_sweep.hpp"
#include "calibration/product_transfer.hpp"
#include "calibration/table_calibration.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/execution/execution_device.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

void write_listed(const std::filesystem::path& file, const std::string& text) {
  write_named_file(file, [&](const auto& place) { write_file_atomically(place, text); });
}

/// Before minutes of measuring, and not after them.
void expect_writable(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::absolute(path).parent_path();
  std::error_code failed;
  if (std::filesystem::is_directory(parent, failed) &&
      !std::filesystem::is_directory(path, failed)) {
    return;
  }
  throw InputError({.file = path,
                    .pointer = {},
                    .found = std::filesystem::is_directory(path, failed)
                                 ? "a folder"
                                 : fmt::format("no folder \"{}\"", parent.string()),
                    .expected = "the path of a machine file to write",
                    .hint = {}});
}

RuleProgress shown(Progress& progress, const Terminal& terminal) {
  return [&progress, &terminal](std::string_view, std::size_t done, std::size_t total) {
    if (stop_requested(terminal.stop)) throw Interrupted("interrupted; nothing was written");
    progress.set_total(total);
    progress.update(done);
  };
}

}  // namespace

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
  verb->add_option("--shapes",
                   options.shapes,
                   "Writes a table of so many products without times instead, those that tell most "
                   "of the fitted parameters of --machine")
      ->check(CLI::Range(1, 490));
  verb->add_option("--machine",
                   options.machine,
                   "With --from, --transfer and --shapes: the machine that is calibrated");
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

int run(const CalibrateOptions& options, const Terminal& terminal) {
  if (!options.from.empty() || !options.transfer.empty() || options.shapes > 0) {
    return run_tables(options, terminal);
  }
  expect_writable(options.out);
  const auto device = device_from(options.device);
  if (!device) {
    throw InputError({.file = "--device",
                      .pointer = {},
                      .found = fmt::format("\"{}\"", options.device),
                      .expected = device_choices(),
                      .hint = {}});
  }
  BenchRequest request{.workers = options.workers,
                       .base = options.base,
                       .products = cuda_products_of(options.products),
                       .stop = terminal.stop};
  if (options.connections > 0) request.connections = options.connections;
  if (options.seconds > 0 && !device->kind->calibrates_for_seconds) {
    throw InputError(
        {.file = "--seconds",
         .pointer = {},
         .found = fmt::format("{:g} with --device {}", options.seconds, options.device),
         .expected = "--device cpu",
         .hint = "of such a device --quick says how much is measured"});
  }
  const OpenedBench bench = device->kind->open_bench(device->number, request);
  return bench.device == nullptr ? run(options, *bench.cores, terminal)
                                 : run(options, *bench.device, bench.base, terminal);
}

int run_tables(const CalibrateOptions& options, const Terminal& terminal) {
  expect_writable(options.out);
  if (options.machine.empty()) {
    throw InputError({.file = "--machine",
                      .pointer = {},
                      .found = "nothing",
                      .expected = "the machine that is calibrated, or its file",
                      .hint = {}});
  }
  if (options.shapes > 0) {
    const auto shapes =
        micro_sweep_of(load_machine(options.machine), DataType::bf16, options.shapes);
    write_listed(options.out, micro_sweep_csv(shapes, DataType::bf16));
    terminal.out << fmt::format("wrote {}\n", options.out);
    return exit_done;
  }
  if (!options.transfer.empty()) {
    std::vector<MachineSpec> known;
    for (const std::string& name : options.transfer) known.push_back(load_machine(name));
    write_listed(
        options.out,
        write_machine(transfer_products(known, load_machine(options.machine), DataType::bf16)));
    terminal.out << fmt::format("wrote {}\n", options.out);
    return exit_done;
  }
  std::vector<OperatorTable> tables;
  for (const std::string& file : options.from) tables.push_back(OperatorTable::read(file));
  const MachineSpec base = load_machine(options.machine);
  Progress progress{terminal, 0, 0, "stages"};
  std::size_t stages = 0;
  const TableCalibration made = calibrate_from_tables(
      tables,
      base,
      {.name = options.name.empty() ? base.name : options.name,
       .date = {},
       .command = fmt::format("schedlab calibrate --from TABLES --machine {}", base.name),
       .progress = [&](std::string_view) {
         if (stop_requested(terminal.stop)) throw Interrupted("interrupted; nothing was written");
         progress.update(++stages);
       }});
  progress.finish();
  write_listed(options.out, write_machine(made.machine));
  const auto beside = [&](const char* ending) {
    return std::filesystem::path{options.out}.replace_extension(ending).string();
  };
  write_listed(beside("table_report.json"), table_calibration_json(made));
  write_listed(beside("table_report.md"), table_calibration_markdown(made));
  terminal.out << (options.json ? table_calibration_json(made)
                                : table_calibration_text(made, options.out));
  return exit_done;
}

int run(const CalibrateOptions& options, CalibrationBench& bench, const Terminal& terminal) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  expect_writable(options.out);
  Progress progress{terminal, 0, 0, "experiments"};
  const MachineSpec machine = calibrate(bench,
                                        {.name = options.name.empty() ? "cpu" : options.name,
                                         .quick = options.quick,
                                         .seconds = options.seconds},
                                        shown(progress, terminal));
  progress.finish();
  write_listed(options.out, write_machine(machine));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  terminal.out << (options.json ? calibration_json : calibration_text)(
      machine, options.out, seconds);
  return exit_done;
}

int run(const CalibrateOptions& options,
        DeviceBench& bench,
        const MachineSpec& base,
        const Terminal& terminal) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  expect_writable(options.out);
  Progress progress{terminal, 0, 0, "experiments"};
  const DeviceCalibration made = calibrate_device(
      bench,
      base,
      {.name = options.name.empty() ? "gpu" : options.name, .quick = options.quick},
      shown(progress, terminal));
  progress.finish();
  write_listed(options.out, write_machine(made.machine));
  write_listed(device_report_file(options.out, ".json"), device_report_json(made.rules));
  write_listed(device_report_file(options.out, ".md"), device_report_markdown(made.rules));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  terminal.out << (options.json ? device_calibration_json : device_calibration_text)(
      made, options.out, seconds);
  return exit_done;
}

}  // namespace schedlab
