// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/measured.hpp"
#include "studies/validation/prediction.hpp"

namespace schedlab {

/// What a machine's profile says of its own errors: the residuals of `measured` at shapes that were
/// left out of the fits, the range of shapes, and how equal runs scatter. Nothing for machines
/// without a profile, and for problems whose costs another model made.
class ProfileCalibration {
 public:
  /// `space` must outlive this.
  explicit ProfileCalibration(ScenarioSpace& space) : space_(space) {}

  [[nodiscard]] OperationCalibration of(std::uint64_t scenario, const PreparedProblem& problem);

 private:
  ScenarioSpace& space_;
  Measured model_;  // keeps its fits
};

}  // namespace schedlab
