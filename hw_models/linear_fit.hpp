// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace schedlab {

/// One measurement with what explains it: measured = sum of coefficients x features. Features are
/// counts from a model's structure (launches, cells, bytes), often simulated makespans.
struct FitRow {
  std::vector<double> features;
  double measured = 0;  ///< in any unit; coefficients are in it per feature
};

struct LinearFit {
  std::vector<double> coefficients;  ///< one per feature, none negative
  std::vector<double> residuals;     ///< predicted / measured - 1 of the rows fitted on

  [[nodiscard]] double predict(const std::vector<double>& features) const;
};

/// Non-negative least squares of the relative errors: each coefficient is a cost, and a cost below
/// zero means nothing.
///
/// All subsets of the features are solved by QR and the best one without a negative coefficient is
/// taken, so the result is exact.
///
/// Shapes   rows: at least as many as features, 1 to 8 features, the same in every row, measured
///          above 0, all finite (ContractViolation otherwise).
/// Errors   InfeasibleError if the features of the rows cannot be told apart (rank deficient).
/// Cost     O(2^features * rows * features^2).
[[nodiscard]] LinearFit fit_costs(const std::vector<FitRow>& rows);

}  // namespace schedlab
