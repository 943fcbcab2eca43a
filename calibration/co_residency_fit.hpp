// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_report.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/machine/platform.hpp"

#include <optional>

namespace schedlab {

/// The co-residency factor of a machine (Device::co_residency_factor) with which the simulator
/// comes nearest to how long two rows of matrix products took side by side.
struct CoResidencyFit {
  double factor = 1.0;         ///< 0.1 to 1
  double measured = 0;         ///< rule co_run_compute_compute: over the time of one row alone
  double without = 0;          ///< simulated at factor 1
  double other_measured = 0;   ///< rule co_run_compute_memory, that nothing was fitted on; 0: none
  double other_simulated = 0;  ///< at `factor`
};

/// Fits the factor of `believed`, under its sharing model; whatever else that model leaves out of
/// this rule goes into it. 1 where the simulator at 1 is within the
/// interval of what was measured, or slower. Nothing where the rule was not measured, where the
/// factor is of no effect on it (the simulated products share no units), and where even 0.1 would
/// not explain it.
///
/// Cost: about 20 simulations of the rules of kernels side by side.
[[nodiscard]] std::optional<CoResidencyFit> fit_co_residency(const Platform& believed,
                                                             const DeviceReport& sheet);

/// The number of a machine file, with how it came about.
[[nodiscard]] NumberSource co_residency_source(const CoResidencyFit& fit,
                                               const DeviceReport& sheet);

}  // namespace schedlab
