// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace schedlab {

/// Parameters that make residuals small, and how well the residuals determine them.
struct RobustFit {
  std::vector<double> values;
  /// 95 % intervals from the curvature at `values`, residuals taken as independent; a parameter
  /// that changes no residual, or whose interval leaves its bounds, has the bounds.
  std::vector<std::pair<double, double>> intervals;
  double cost = 0;  ///< sum of the losses
};

/// Residuals at parameters; the same number each time.
using ResidualsAt = std::function<void(const std::vector<double>&, std::vector<double>&)>;

/// Levenberg-Marquardt on the loss 2 scale^2 (sqrt(1 + (r / scale)^2) - 1), which counts large
/// residuals r by their size and not by their square, within bounds. Derivatives are differences.
/// Deterministic.
///
/// Shapes   start and bounds: one per parameter, start within bounds (ContractViolation otherwise).
/// Cost     iterations x (parameters + a few) calls.
/// Source   Madsen, Nielsen, Tingleff, Methods for Non-Linear Least Squares Problems, 2004, 3.2;
///          the loss as iteratively reweighted squares.
[[nodiscard]] RobustFit fit_robustly(const ResidualsAt& residuals_at,
                                     std::vector<double> start,
                                     const std::vector<std::pair<double, double>>& bounds,
                                     double scale,
                                     int iterations);

}  // namespace schedlab
