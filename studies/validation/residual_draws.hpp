// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/machine/drift.hpp"
#include "sim/plan/policy.hpp"
#include "studies/validation/prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// A seed for draw number `draw` of the thing `key`.
[[nodiscard]] std::uint64_t draw_seed(std::uint64_t seed, std::uint64_t draw, std::uint64_t key);

/// Factors on the durations of operations, as they may come out according to a calibration.
///
/// Errors are not independent: a machine that is slower than when it was calibrated is so for all
/// kernels, and a shape at which one kernel is mispredicted is one at which others are. Each draw
/// therefore takes
///   drift      one reading of the machine's speed during calibration, for all operations alike
///   residuals  of one model of the calibration, every operation the residual that its own class
///              had in that model; a class without one there any of its residuals
/// so that what goes together in the calibration goes together in the draw, whatever its law
/// (a bootstrap of blocks: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, 8.6).
class ResidualDraws {
 public:
  /// Both must outlive this. `problem`: what the calibration is of, PreparedProblem::simulated().
  ResidualDraws(const Problem& problem, const OperationCalibration& calibration);

  /// Depends on the seed, the number of the draw and the operations (name and kernels), on nothing
  /// else: two policies for one workload meet the same factors.
  [[nodiscard]] IdVector<OperationId, double> factors(std::uint64_t seed, std::uint64_t draw) const;

 private:
  const TaskGraph& graph_;
  const OperationCalibration& calibration_;
  IdVector<OperationId, std::uint64_t> keys_;
  IdVector<OperationId, std::uint8_t> all_units_;
  std::vector<std::uint64_t> models_;  // in which at least half of the operations have a residual
};

/// The factor of a reading on each operation of the problem; what only has a duration does not
/// change.
[[nodiscard]] IdVector<OperationId, double> drift_factors(const Problem& problem,
                                                          const DriftReading& reading);

}  // namespace schedlab
