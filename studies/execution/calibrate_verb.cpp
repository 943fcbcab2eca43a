// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/calibrate_verb.hpp"

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
#include "studies/execution/residual_picture.hpp"

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
  const OpenedBench bench = device->kind->open_bench(*device, request);
  return bench.device == nullptr ? run(options, *bench.cores, terminal)
                                 : run(options, *bench.device, bench.base, terminal);
}

int run_tables(const CalibrateOptions& options, const Terminal& terminal) {
  expect_writable(options.out);
  if (options.shapes > 0) {
    write_listed(options.out, micro_sweep_csv(micro_sweep(options.shapes), DataType::bf16));
    terminal.out << fmt::format("wrote {}\n", options.out);
    return exit_done;
  }
  if (options.machine.empty()) {
    throw InputError({.file = "--machine",
                      .pointer = {},
                      .found = "nothing",
                      .expected = "the machine that is calibrated, or its file",
                      .hint = {}});
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
  const auto beside = [&](const std::string& ending) {
    return std::filesystem::path{options.out}.replace_extension(ending).string();
  };
  write_listed(beside("table_report.json"), table_calibration_json(made));
  write_listed(beside("table_report.md"), table_calibration_markdown(made));
  for (const OperatorFit& fit : made.fits) {
    if (fit.cells.empty()) continue;
    write_listed(beside(fmt::format("{}_{}_residuals.svg", fit.kind, to_string(fit.type))),
                 residual_picture_svg(fit, made.machine.name));
  }
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
