// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/fitted_parameters.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// To four digits, more than a fit knows; less than 1e-6 is 0.
[[nodiscard]] double four_digits(double value);

/// What a fitted model says of row i of the measurements, us.
using PredictRow = std::function<double(const FittedParameters&, std::size_t)>;

struct ModelFit {
  FittedParameters parameters;
  double cost = 0;  ///< mean robust loss of the rows fitted on
};

struct ModelFitOptions {
  double loss_scale = 0.1;  ///< residuals of logarithms beyond it count by their size
  int iterations = 40;
  int rounds = 2;  ///< from each start, from where the last one ended
  /// Standard deviations of the logarithms that hold parameters to a start, and the scatter of rows
  /// that this is weighed against; empty: nothing holds them.
  std::vector<double> prior{};
  double row_scatter = 1;
};

/// Fits the parameters of a model so that the logarithms of predicted over measured times become
/// small (fit_robustly), from each start given and from where that ends once more. Parameters of
/// the model's form (ParameterInfo::integer) keep the value of the start. Fitted is log(value), or
/// log(value + 5 % of its usual size) where 0 is allowed; rounded to four digits.
///
/// Shapes   starts: not empty, one value per parameter each, within range; measured: above 0
///          (ContractViolation otherwise).
/// Cost     starts x some 40 iterations x parameters x rows.
[[nodiscard]] ModelFit fit_model(std::span<const ParameterInfo> infos,
                                 const std::vector<std::vector<double>>& starts,
                                 const std::vector<double>& measured,
                                 const PredictRow& predict,
                                 const ModelFitOptions& options = {});

/// The start of every parameter by its ParameterInfo.
[[nodiscard]] std::vector<double> usual_start(std::span<const ParameterInfo> infos);

}  // namespace schedlab
