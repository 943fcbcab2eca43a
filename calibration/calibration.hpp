// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/profile_fits.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace schedlab {

struct CalibrationOptions {
  std::string name = "cpu";  ///< of the machine
  bool quick = false;
  double seconds = 0;  ///< that all kernels may take; 0 = what `quick` says
};

/// Called between experiments: what comes next, how many are done and how many there are.
using CalibrationProgress = std::function<void(std::string_view, std::size_t, std::size_t)>;

/// Measures kernels, host calls, latencies, bandwidth and slow-down on `bench`, chooses how kernels
/// are cut, and makes a machine of it. Every number is `measured` and says how.
/// Throws what the bench throws (Interrupted).
[[nodiscard]] MachineSpec calibrate(CalibrationBench& bench,
                                    const CalibrationOptions& options,
                                    const CalibrationProgress& progress);

/// The rule under which the kernels of the samples take least time, each alone on `units`, by the
/// fits. A kernel is not split for a few per cent, as that takes units from others: each doubling
/// of the blocks must save a sixth of the time. Smaller pieces among equal rules.
[[nodiscard]] CutRule choose_cut(const KernelProfile& profile, std::uint32_t units);

}  // namespace schedlab
