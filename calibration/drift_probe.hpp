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

/// The kernels of the drift probe as they ran at one moment: cut into one block each, and into one
/// for each worker.
struct ProbeTimes {
  std::vector<KernelSample> one_unit;
  std::vector<KernelSample> all_units;
};

/// What is run to see how fast the machine is: drift_probe() (kernel_cases.hpp) in one stream.
struct ProbeCases {
  explicit ProbeCases(std::uint32_t workers);
  BenchCase one_unit;
  BenchCase all_units;
};

/// Times each case: the faster of two runs after a warm-up, since what disturbs a run for
/// less than its length is not how fast the machine is. Throws what the bench throws.
[[nodiscard]] ProbeTimes measure_probe(CalibrationBench& bench, const ProbeCases& cases);

/// By kind, the sum of the times over what the same kernels took according to the profile's
/// samples. Kernels that were not measured then do not count; a kind that is less than 5 % of the
/// time is not in the reading.
[[nodiscard]] DriftReading drift_reading(const KernelProfile& profile, const ProbeTimes& times);

/// The probe on this computer's cores, as often as asked: some milliseconds each time, as the data
/// that its kernels work on stays where it is.
class CpuDriftProbe {
 public:
  /// Throws what CpuExecutor throws.
  CpuDriftProbe(std::uint32_t workers, bool pin, const StopFlag* stop);

  [[nodiscard]] ProbeTimes measure();

 private:
  [[nodiscard]] std::vector<KernelSample> measure(const BenchCase& what, RecurrentWork& work);

  ProbeCases cases_;
  RecurrentWork one_unit_;
  RecurrentWork all_units_;
  CpuExecutor executor_;
  Execution run_;
};

}  // namespace schedlab
