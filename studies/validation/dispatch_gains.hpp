// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/spec/grid.hpp"
#include "studies/validation/validation.hpp"

#include <cstddef>
#include <vector>

namespace schedlab {

/// Two scenarios that differ in the axis `dispatch` alone: a plan, or a host that decides, and
/// workers that do.
struct DispatchGain {
  std::size_t other = 0;    ///< outcomes: dispatch static or host
  std::size_t dynamic = 0;  ///< and dynamic
  /// Makespan of the other over that of the workers; with `variability` of the means of its
  /// samples.
  double predicted_gain = 0;
  double measured_gain = 0;
  bool decidable = false;  ///< as PairOutcome::decidable
};

/// In the order of the spec; empty without such pairs.
[[nodiscard]] std::vector<DispatchGain> dispatch_gains(
    const Grid& grid,
    const std::vector<PredictedScenario>& predicted,
    const Validation& validation);

}  // namespace schedlab
