// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/machine/drift.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// The kernels of the speed check as they ran at one moment: cut into one block each, and into one
/// for each worker.
struct SpeedCheckTimes {
  std::vector<KernelSample> one_unit;
  std::vector<KernelSample> all_units;
};

/// What is run to see how fast the machine is: speed_check() (kernel_cases.hpp) in one stream.
struct SpeedCheckCases {
  explicit SpeedCheckCases(std::uint32_t workers);
  BenchCase one_unit;
  BenchCase all_units;
};

/// Times each case: the faster of two runs after a warm-up, since what disturbs a run for
/// less than its length is not how fast the machine is. Throws what the bench throws.
[[nodiscard]] SpeedCheckTimes measure_speed(CalibrationBench& bench, const SpeedCheckCases& cases);

/// By kind, the sum of the times over what the same kernels took according to the profile's
/// samples. Kernels that were not measured then do not count; a kind that is less than 5 % of the
/// time is not in the reading.
[[nodiscard]] DriftReading drift_reading(const KernelProfile& profile,
                                         const SpeedCheckTimes& times);

/// The speed check on this computer's cores, as often as asked: some milliseconds each time, as the
/// data that its kernels work on stays where it is.
class CpuSpeedCheck {
 public:
  /// Throws what CpuExecutor throws.
  CpuSpeedCheck(std::uint32_t workers, bool pin, const StopFlag* stop);

  [[nodiscard]] SpeedCheckTimes measure();

 private:
  [[nodiscard]] std::vector<KernelSample> measure(const BenchCase& what, RecurrentWork& work);

  SpeedCheckCases cases_;
  RecurrentWork one_unit_;
  RecurrentWork all_units_;
  CpuExecutor executor_;
  Execution run_;
};

}  // namespace schedlab
