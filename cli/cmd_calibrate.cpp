// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_calibrate.hpp"

#include "calibration/calibration.hpp"
#include "calibration/cpu_bench.hpp"
#include "calibration/cuda_bench.hpp"
#include "calibration/device_calibration.hpp"
#include "calibration/rule_sheet.hpp"
#include "hw_models/profile_fits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/execution/cuda_execution.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

void write_listed(const std::filesystem::path& file, const std::string& text) {
  write_named_file(file, [&](const auto& place) { write_file_atomically(place, text); });
}

using Json = nlohmann::ordered_json;

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

void print_classes(const ProfileFits& fits, const Terminal& terminal) {
  terminal.out << "\n  error on shapes that were left out of the fit\n";
  terminal.out << fmt::format(
      "  {:<18} {:>7} {:>9} {:>9}   {}\n", "operation", "kernels", "median %", "90 % <", "shapes");
  for (const KernelClass& one : fits.classes()) {
    const std::string errors =
        one.held_out()
            ? fmt::format("{:>9.1f} {:>9.1f}", 100 * one.error(0.5), 100 * one.error(0.9))
            : fmt::format("{:>9} {:>9}", "-", "-");
    const std::string name = one.type() == DataType::fp32
                                 ? one.operation()
                                 : fmt::format("{} {}", one.operation(), to_string(one.type()));
    terminal.out << fmt::format(
        "  {:<18} {:>7} {}   {}\n", name, one.samples().size(), errors, one.hull_text());
  }
}

void print_text(const MachineSpec& machine,
                const ProfileFits& fits,
                const std::string& out,
                double seconds,
                const Terminal& terminal) {
  const KernelProfile& profile = *machine.platform.devices[DeviceId{0}].profile;
  terminal.out << fmt::format(
      "{}\n  {} kernels of {} classes in {:.0f} s; equal runs scatter by {:.1f} %\n  cut: a block "
      "for every {:.3g} FLOP or {:.3g} bytes, at most {}\n",
      machine.description,
      profile.samples.size(),
      fits.classes().size(),
      seconds,
      100 * profile.noise,
      profile.cut.flops_per_block,
      profile.cut.bytes_per_block,
      profile.units);
  for (const NumberSource& source : machine.sources) {
    if (source.origin != Origin::measured) continue;
    terminal.out << fmt::format("  {:<36} {:>10.3f}\n", source.pointer.substr(1), source.value);
  }
  for (const CoRunSlowDown& one : profile.co_run) {
    terminal.out << fmt::format("  {:<36} {:>10.3f}\n",
                                fmt::format("slow-down beside others/{}", to_string(one.kind)),
                                one.factor);
  }
  print_classes(fits, terminal);
  terminal.out << fmt::format("\nwrote {}\n", out);
}

Json classes_json(const ProfileFits& fits) {
  Json classes = Json::array();
  for (const KernelClass& one : fits.classes()) {
    Json entry{{"operation", one.operation()},
               {"kind", std::string{to_string(one.kind())}},
               {"type", std::string{to_string(one.type())}},
               {"samples", one.samples().size()},
               {"valid", one.hull_text()},
               {"held_out", one.held_out()}};
    if (one.held_out()) {
      entry["error_median"] = one.error(0.5);
      entry["error_p90"] = one.error(0.9);
    }
    classes.push_back(std::move(entry));
  }
  return classes;
}

void print_json(const MachineSpec& machine,
                const ProfileFits& fits,
                const std::string& out,
                double seconds,
                const Terminal& terminal) {
  const KernelProfile& profile = *machine.platform.devices[DeviceId{0}].profile;
  Json summary{{"machine", machine.name},
               {"out", out},
               {"seconds", seconds},
               {"samples", profile.samples.size()},
               {"noise", profile.noise},
               {"flops_per_block", profile.cut.flops_per_block},
               {"bytes_per_block", profile.cut.bytes_per_block},
               {"classes", classes_json(fits)}};
  terminal.out << summary.dump(2) << '\n';
}

/// "out/mine.json" -> "out/mine.rule_sheet" + `ending`
std::string beside(const std::string& out, const std::string& ending) {
  return std::filesystem::path{out}.replace_extension("rule_sheet" + ending).string();
}

Json names_of(const RuleSheet& sheet, RuleVerdict verdict) {
  Json names = Json::array();
  for (const MeasuredRule& rule : sheet.rules) {
    if (rule.verdict == verdict) names.push_back(rule.name);
  }
  return names;
}

void print_device_json(const DeviceCalibration& made,
                       const ProfileFits& fits,
                       const std::string& out,
                       double seconds,
                       const Terminal& terminal) {
  Json rules = Json::object();
  for (const RuleVerdict verdict : {RuleVerdict::agrees,
                                    RuleVerdict::differs,
                                    RuleVerdict::not_measured,
                                    RuleVerdict::not_simulated}) {
    rules[std::string{to_string(verdict)}] = names_of(made.rules, verdict);
  }
  const Json summary{{"machine", made.machine.name},
                     {"out", out},
                     {"rule_sheet", beside(out, ".json")},
                     {"seconds", seconds},
                     {"rules", std::move(rules)},
                     {"classes", classes_json(fits)}};
  terminal.out << summary.dump(2) << '\n';
}

void print_device_text(const DeviceCalibration& made,
                       const ProfileFits& fits,
                       const std::string& out,
                       double seconds,
                       const Terminal& terminal) {
  terminal.out << rule_sheet_text(made.rules);
  print_classes(fits, terminal);
  terminal.out << fmt::format("\n{} kernels in {:.0f} s\nwrote {}, {} and {}\n",
                              made.machine.platform.devices[DeviceId{0}].profile->samples.size(),
                              seconds,
                              out,
                              beside(out, ".json"),
                              beside(out, ".md"));
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
  verb->add_option(
          "--device",
          options.device,
          "What to measure: cpu, or cuda (cuda:1 for the second), which also writes a rule "
          "sheet beside FILE")
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
      ->check(CLI::IsMember(cuda_products_names()));
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
  expect_writable(options.out);
  if (const auto device = cuda_device_from(options.device)) {
    if (options.seconds > 0) {
      throw InputError(
          {.file = "--seconds",
           .pointer = {},
           .found = fmt::format("{:g} with --device {}", options.seconds, options.device),
           .expected = "--device cpu",
           .hint = "of a CUDA device --quick says how much is measured"});
    }
    const auto connections =
        options.connections == 0 ? std::nullopt : std::optional{options.connections};
    CudaBench bench{{.device = *device,
                     .connections = connections,
                     .products = cuda_products_of(options.products),
                     .run = {.stop = terminal.stop}},
                    options.base};
    return run(options, bench, bench.base(), terminal);
  }
  if (options.device != "cpu") {
    throw InputError({.file = "--device",
                      .pointer = {},
                      .found = fmt::format("\"{}\"", options.device),
                      .expected = "cpu or cuda (cuda:1 for the second)",
                      .hint = {}});
  }
  CpuBench bench{options.workers, terminal.stop};
  return run(options, bench, terminal);
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
  const ProfileFits fits{*machine.platform.devices[DeviceId{0}].profile};
  (options.json ? print_json : print_text)(machine, fits, options.out, seconds, terminal);
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
  write_listed(beside(options.out, ".json"), rule_sheet_json(made.rules));
  write_listed(beside(options.out, ".md"), rule_sheet_markdown(made.rules));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const ProfileFits fits{*made.machine.platform.devices[DeviceId{0}].profile};
  (options.json ? print_device_json : print_device_text)(
      made, fits, options.out, seconds, terminal);
  return exit_done;
}

}  // namespace schedlab
