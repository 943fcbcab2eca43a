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
  [[nodiscard]] OperationCalibration of(const PreparedProblem& problem);

 private:
  Measured model_;  // keeps its fits
};

}  // namespace schedlab
