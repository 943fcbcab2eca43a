// SPDX-License-Identifier: Apache-2.0
#include "calibration/speed_check.hpp"

#include "calibration/device_times.hpp"
#include "calibration/kernel_cases.hpp"
#include "calibration/kernel_times.hpp"
#include "real_exec/recurrent/gemm.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace schedlab {
namespace {

constexpr std::size_t kept_runs = 2;
constexpr double min_share = 0.05;  // of the check's time; copies of a microsecond scatter
constexpr std::uint64_t seed = 1;   // of the numbers in the models

bool same_kernel(const KernelSample& a, const KernelSample& b) {
  const Kernel& x = a.kernel;
  const Kernel& y = b.kernel;
  return a.operation == b.operation && a.units == b.units && x.kind == y.kind && x.type == y.type &&
         x.m == y.m && x.n == y.n && x.k == y.k && x.flops == y.flops &&
         x.bytes_read == y.bytes_read && x.bytes_written == y.bytes_written &&
         x.working_set == y.working_set && x.grid.blocks == y.grid.blocks;
}

struct Sum {
  double measured = 0;
  double calibrated = 0;
};
using Sums = std::array<Sum, task_kind_count>;

Sums sums_of(const KernelProfile& profile, const std::vector<KernelSample>& times) {
  Sums sums{};
  for (const KernelSample& time : times) {
    const auto known = std::find_if(
        profile.samples.begin(), profile.samples.end(), [&](const KernelSample& sample) {
          return same_kernel(sample, time);
        });
    if (known == profile.samples.end()) continue;
    Sum& sum = sums.at(static_cast<std::size_t>(time.kernel.kind));
    sum.measured += to_seconds(time.duration) * time.repetitions;
    sum.calibrated += to_seconds(known->duration) * time.repetitions;
  }
  return sums;
}

/// Of one kind; nullopt if that is too little of all for the clock to say something.
std::optional<double> factor(const Sums& sums, std::size_t kind) {
  double all = 0;
  for (const Sum& sum : sums) all += sum.calibrated;
  const Sum& sum = sums.at(kind);
  if (sum.calibrated <= min_share * all || sum.measured <= 0) return std::nullopt;
  return sum.measured / sum.calibrated;
}

/// Of the fastest run: those above the quantile 0 of the makespans are left out.
std::vector<KernelSample> of_the_fastest(const KernelTimes& times) {
  return times.samples(0.0);
}

std::vector<KernelSample> measure_on(CalibrationBench& bench, const BenchCase& what) {
  KernelTimes times(what.graph, bench.workers());
  repeat(bench,
         what,
         {.seconds = 0, .min_runs = kept_runs, .max_runs = kept_runs},
         [&](const Execution& run) { times.add(run); });
  return of_the_fastest(times);
}

}  // namespace

SpeedCheckCases::SpeedCheckCases(std::uint32_t workers)
    : one_unit(bench_case(speed_check(1))), all_units(bench_case(speed_check(workers))) {}

SpeedCheckTimes measure_speed(CalibrationBench& bench, const SpeedCheckCases& cases) {
  return {.one_unit = measure_on(bench, cases.one_unit),
          .all_units = measure_on(bench, cases.all_units)};
}

DriftReading drift_reading(const KernelProfile& profile, const SpeedCheckTimes& times) {
  const Sums one_unit = sums_of(profile, times.one_unit);
  const Sums all_units = sums_of(profile, times.all_units);
  DriftReading reading;
  for (std::size_t i = 0; i < task_kind_count; ++i) {
    const auto kind = static_cast<TaskKind>(i);
    const auto one = factor(one_unit, i);
    const auto all = factor(all_units, i);
    if (!one && !all) continue;
    reading.kinds.push_back({.kind = kind,
                             .one_unit = one.value_or(all.value_or(1)),
                             .all_units = all.value_or(one.value_or(1))});
  }
  return reading;
}

CpuSpeedCheck::CpuSpeedCheck(std::uint32_t workers, bool pin, const StopFlag* stop)
    : cases_(workers),
      one_unit_(*cases_.one_unit.recurrent, cases_.one_unit.graph, seed),
      all_units_(*cases_.all_units.recurrent, cases_.all_units.graph, seed),
      executor_({.workers = workers,
                 .host = HostPlacement::preloaded,
                 .pin = pin,
                 .record_hosts = false,
                 .stop = stop,
                 .prepare_worker = prepare_worker_thread}) {}

std::vector<KernelSample> CpuSpeedCheck::measure(const BenchCase& what, RecurrentWork& work) {
  KernelTimes times(what.graph, executor_.workers());
  for (std::size_t run = 0; run <= kept_runs; ++run) {
    executor_.run(what.graph, what.plan, work, run_);
    if (run > 0) times.add(run_);
  }
  return of_the_fastest(times);
}

SpeedCheckTimes CpuSpeedCheck::measure() {
  return {.one_unit = measure(cases_.one_unit, one_unit_),
          .all_units = measure(cases_.all_units, all_units_)};
}

}  // namespace schedlab
