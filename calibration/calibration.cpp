// SPDX-License-Identifier: Apache-2.0
#include "calibration/calibration.hpp"

#include "calibration/cache_curve.hpp"
#include "calibration/device_times.hpp"
#include "calibration/interference.hpp"
#include "calibration/kernel_cases.hpp"
#include "calibration/kernel_times.hpp"
#include "calibration/speed_check.hpp"
#include "calibration/stream_pauses.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr double full_seconds = 200;
constexpr double quick_seconds = 32;
constexpr std::size_t full_passes = 4;
constexpr std::size_t quick_passes = 2;
constexpr double blocks_exponent = 0.25;  // 2^-0.25: a doubling must save a sixth
constexpr std::uint32_t priority_levels = 8;
constexpr std::size_t device_experiments = 5;
constexpr double cases_per_sweep = 10;      // in time: some milliseconds of reads at each distance
constexpr std::size_t cases_per_check = 4;  // some 60 ms of 1.4 s // assumed: drift is slower

// What disturbs a computer only makes kernels slower.
constexpr double disturbed_noise = 0.05;
constexpr const char* medians = "medians over the fastest 80 % of the runs";
constexpr const char* of_fast_runs =
    "medians over the fastest 40 % of the runs, as equal runs scattered by more than 5 %";

/// What the predicted times of one kernel are, by number of blocks from 1.
struct Cuttable {
  Kernel kernel;
  std::vector<double> seconds;
};

std::vector<Cuttable> cuttable(const KernelProfile& profile, std::uint32_t units) {
  const ProfileFits fits{profile};
  std::vector<Cuttable> kernels;
  for (const KernelClass& one : fits.classes()) {
    const TaskKind kind = one.kind();
    if (kind != TaskKind::gemm && kind != TaskKind::pointwise && kind != TaskKind::reduction) {
      continue;
    }
    for (const KernelSample& sample : one.samples()) {
      Cuttable made{.kernel = sample.kernel, .seconds = {}};
      for (std::uint32_t blocks = 1; blocks <= units; ++blocks) {
        made.kernel.grid.blocks = blocks;
        made.seconds.push_back(one.fit().seconds(made.kernel, units));
      }
      kernels.push_back(std::move(made));
    }
  }
  return kernels;
}

MachineSpec base_machine(const CalibrationOptions& options,
                         const BenchDevice& device,
                         std::uint32_t workers) {
  MachineSpec machine;
  machine.name = options.name;
  machine.description =
      fmt::format("{}, {} workers, measured on {}", device.cpu, workers, device.date);
  machine.platform.name = options.name;
  machine.platform.sharing = SharingModel::fluid;
  Device& made = machine.platform.devices[DeviceId{0}];
  made.name = device.cpu;
  const UnitClassId cores = made.unit_classes.push_back({.name = "core", .count = workers});
  made.rates.matrix_units = workers;
  made.rates.vector_units = workers;
  for (const std::string& word : enum_names<TaskKind>()) {
    const TaskKind kind = enum_value<TaskKind>(word);
    if (kind == TaskKind::collective) continue;
    made.unit_class_of[static_cast<std::size_t>(kind)] = cores;
  }
  return machine;
}

KernelProfile base_profile(const BenchDevice& device,
                           std::uint32_t workers,
                           const CalibrationOptions& options) {
  KernelProfile profile;
  profile.date = device.date;
  profile.cpu = device.cpu;
  profile.compiler = device.compiler;
  profile.units = workers;
  profile.how = fmt::format(
      "schedlab calibrate --device cpu{}{}: kernels inside training steps of small LSTM and GRU "
      "stacks on one stream, {} workers, matrix products by {}; ",
      options.quick ? " --quick" : "",
      options.seconds > 0 ? fmt::format(" --seconds {:g}", options.seconds) : "",
      workers,
      device.library);
  return profile;
}

std::vector<BenchCase> all_cases(std::uint32_t workers, bool quick) {
  std::vector<BenchCase> cases;
  for (const KernelCase& one : kernel_cases(workers, quick)) {
    cases.push_back(bench_case(one));
  }
  cases.push_back(generic_case(workers));
  if (workers > 1) cases.push_back(generic_case(1));
  return cases;
}

void add(MachineSpec& machine, const MeasuredNumber& number, Origin origin = Origin::measured) {
  machine.sources.push_back(
      {.pointer = number.pointer, .value = number.value, .origin = origin, .text = number.how});
}

CacheLevels cache_levels(const BenchDevice& device, const KernelProfile& profile) {
  const Bytes all_units{device.unit_cache.count() * std::int64_t{profile.units}};
  return {.last = {.size = device.last_level_cache, .curve = profile.cache_curve},
          .units = {.size = all_units}};
}

void add_caches(const BenchDevice& device, MachineSpec& machine) {
  const auto put = [&](const char* pointer, Bytes size, double unit, const char* how) {
    if (size == Bytes{0}) return;
    add(machine, {pointer, static_cast<double>(size.count()) / unit, how}, Origin::source);
  };
  put("/device/l2_mib",
      device.last_level_cache,
      1 << 20,
      "what the system says of the cache that the cores share");
  put("/device/unit_cache_kib",
      device.unit_cache,
      1 << 10,
      "what the system says of the cache below it, which each core has for itself");
}

/// The fastest product and the fastest other kernel, for cost models that know rates only.
std::vector<MeasuredNumber> peak_rates(const KernelProfile& profile) {
  double matrix = 0;
  double vector = 0;
  for (const KernelSample& sample : profile.samples) {
    const double rate = sample.kernel.flops.count() / to_seconds(sample.duration) / 1e12;
    double& best = sample.kernel.kind == TaskKind::gemm ? matrix : vector;
    best = std::max(best, rate);
  }
  return {{"/device/matrix_tflop_per_s/fp32", matrix, "the fastest product of the profile"},
          {"/device/vector_tflop_per_s/fp32", vector, "the fastest other kernel of the profile"}};
}

std::string range_text(const KernelProfile& profile) {
  const ProfileFits fits{profile};
  std::string text;
  for (const KernelClass& one : fits.classes()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", one.operation(), one.range_text());
  }
  return text;
}

/// What is told of a calibration as it goes on.
struct Steps {
  const CalibrationProgress& progress;
  std::size_t total = 0;
  std::size_t done = 0;

  void begin(std::string_view what) { progress(what, done++, total); }
};

/// Runs of every case, and of the speed check in between.
struct KernelMeasurement {
  std::vector<KernelTimes> times;  ///< by case
  std::vector<SpeedCheckTimes> speed_checks;
  CacheSweeps sweeps;
};

/// In turn, several times over: what disturbs the computer for a few seconds then touches a few
/// runs of each kernel, and not all runs of a few.
KernelMeasurement measure_kernels(CalibrationBench& bench,
                                  const std::vector<BenchCase>& cases,
                                  std::size_t passes,
                                  const Effort& effort,
                                  Steps& steps) {
  KernelMeasurement measured{.times = {},
                             .speed_checks = {},
                             .sweeps = {bench.device().last_level_cache, bench.workers()}};
  measured.times.reserve(cases.size());
  for (const BenchCase& what : cases) measured.times.emplace_back(what.graph, bench.workers());
  Effort sweep = effort;
  sweep.seconds /= cases_per_sweep;
  const SpeedCheckCases check{bench.workers()};
  for (std::size_t pass = 0; pass < passes; ++pass) {
    measured.sweeps.measure(bench, sweep);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      steps.begin(cases[i].name);
      if (i % cases_per_check == 0) measured.speed_checks.push_back(measure_speed(bench, check));
      repeat(bench, cases[i], effort, [&](const Execution& run) { measured.times[i].add(run); });
    }
  }
  return measured;
}

/// How much the makespans of equal runs scatter: the median of all cases but proxy kernels, which
/// are too short to say something of whole runs.
double noise_of(const std::vector<BenchCase>& cases, const std::vector<KernelTimes>& times) {
  std::vector<double> noises;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].proxies) continue;
    noises.push_back(robust_summary(times[i].makespans()).spread);
  }
  return median(noises);
}

PauseFit pauses_of(const std::vector<BenchCase>& cases,
                   const std::vector<KernelTimes>& times,
                   std::uint32_t workers) {
  std::vector<StreamPause> cut;
  std::vector<StreamPause> whole;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].proxies) continue;
    std::vector<StreamPause>& pauses = workers > 1 && cases[i].blocks == workers ? cut : whole;
    pauses.insert(pauses.end(), times[i].pauses().begin(), times[i].pauses().end());
  }
  return fit_pauses(std::move(cut), std::move(whole));
}

void add_samples(KernelProfile& profile,
                 const std::vector<BenchCase>& cases,
                 const KernelMeasurement& measured,
                 const BenchDevice& device) {
  profile.noise = noise_of(cases, measured.times);
  const bool disturbed = profile.noise > disturbed_noise;
  profile.how += disturbed ? of_fast_runs : medians;
  profile.cache_curve = measured.sweeps.curve();
  const CacheLevels caches = cache_levels(device, profile);
  for (const KernelTimes& of_case : measured.times) {
    for (KernelSample& sample : of_case.samples(disturbed ? 0.4 : 0.8, caches)) {
      profile.samples.push_back(std::move(sample));
    }
  }
  for (const SpeedCheckTimes& times_then : measured.speed_checks) {
    profile.drift.push_back(drift_reading(profile, times_then));
  }
}

void add_pauses(MachineSpec& machine, const PauseFit& pauses) {
  const double gap_us = pauses.fixed_seconds * 1e6;
  add(machine,
      {"/device/stream_gap_us",
       gap_us,
       "between tasks of one stream, what does not grow with the kernel before"});
  add(machine,
      {"/device/graph_node_gap_us",
       gap_us,
       "as between tasks of one stream: the executor makes no difference"});
}

/// What the system says, or the executor is told.
void add_given_numbers(MachineSpec& machine, const BenchDevice& device, std::uint32_t workers) {
  add_caches(device, machine);
  add(machine,
      {"/device/unit_classes/core", static_cast<double>(workers), "workers of the executor"},
      Origin::source);
  add(machine,
      {"/device/priority_levels", priority_levels, "default of CpuExecutorOptions"},
      Origin::source);
}

}  // namespace

CutRule choose_cut(const KernelProfile& profile, std::uint32_t units) {
  const std::vector<Cuttable> kernels = cuttable(profile, units);
  CutRule best;
  double least = std::numeric_limits<double>::infinity();
  for (double flops = 16384; flops < 5e9; flops *= 2) {
    for (double bytes = 1024; bytes < 2e9; bytes *= 2) {
      const CutRule rule{.flops_per_block = flops, .bytes_per_block = bytes};
      double sum = 0;
      for (const Cuttable& one : kernels) {
        const std::uint32_t blocks = rule.blocks(one.kernel, units);
        sum += std::log(one.seconds[blocks - 1]) + blocks_exponent * std::log(blocks);
      }
      if (sum >= least - 1e-9) continue;
      least = sum;
      best = rule;
    }
  }
  return best;
}

MachineSpec calibrate(CalibrationBench& bench,
                      const CalibrationOptions& options,
                      const CalibrationProgress& progress) {
  const std::uint32_t workers = bench.workers();
  const BenchDevice device = bench.device();
  const std::vector<BenchCase> cases = all_cases(workers, options.quick);
  const std::size_t passes = options.quick ? quick_passes : full_passes;
  const std::size_t total = passes * cases.size() + device_experiments;
  const double seconds =
      options.seconds > 0 ? options.seconds : (options.quick ? quick_seconds : full_seconds);
  const Effort once{.seconds = seconds / static_cast<double>(total), .min_runs = 2, .max_runs = 10};
  const Effort effort{.seconds = 2 * once.seconds, .min_runs = 5, .max_runs = 25};
  Steps steps{.progress = progress, .total = total};
  MachineSpec machine = base_machine(options, device, workers);
  Device& modelled = machine.platform.devices[DeviceId{0}];
  steps.begin("host calls");
  std::vector<MeasuredNumber> numbers = measure_host(bench, effort);
  steps.begin("events");
  numbers.push_back(measure_event_latency(bench, effort));
  steps.begin("memory bandwidth");
  const std::vector<MeasuredNumber> bandwidth = measure_bandwidth(bench, effort);
  const KernelMeasurement measured = measure_kernels(bench, cases, passes, once, steps);
  KernelProfile profile = base_profile(device, workers, options);
  add_samples(profile, cases, measured, device);
  const PauseFit pauses = pauses_of(cases, measured.times, workers);
  profile.last_block_wait = pauses.last_block_share;
  profile.cut = choose_cut(profile, workers);
  steps.begin("slow-down beside others");
  modelled.profile = std::make_shared<const KernelProfile>(profile);
  profile.co_run = measure_co_run(bench, effort, machine.platform, options.quick);
  steps.begin("slow-down of proxy kernels");
  add_interference(measure_interference(bench, effort, options.quick), profile.co_run);
  profile.valid = range_text(profile);
  for (const MeasuredNumber& number : numbers) add(machine, number);
  add_pauses(machine, pauses);
  for (const MeasuredNumber& number : bandwidth) add(machine, number);
  add_given_numbers(machine, device, workers);
  for (const MeasuredNumber& number : peak_rates(profile)) add(machine, number);
  modelled.profile = std::make_shared<const KernelProfile>(std::move(profile));
  // What a reader makes of the file is what the caller gets: rates and costs where they belong.
  return read_machine(write_machine(machine), options.name);
}

}  // namespace schedlab
