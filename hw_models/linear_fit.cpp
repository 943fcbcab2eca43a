// SPDX-License-Identifier: Apache-2.0
#include "hw_models/linear_fit.hpp"

#include "sim/base/error.hpp"

#include <Eigen/QR>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace schedlab {
namespace {

constexpr std::size_t max_features = 8;

void expect_sound(const std::vector<FitRow>& rows) {
  const std::size_t features = rows.empty() ? 0 : rows.front().features.size();
  const bool sizes = features >= 1 && features <= max_features && rows.size() >= features;
  const bool sound = std::all_of(rows.begin(), rows.end(), [&](const FitRow& row) {
    return row.features.size() == features && row.measured > 0.0 && std::isfinite(row.measured) &&
           std::all_of(
               row.features.begin(), row.features.end(), [](double f) { return std::isfinite(f); });
  });
  SCHEDLAB_EXPECTS(sizes && sound,
                   fmt::format("fit of {} features to {} rows", features, rows.size()));
}

/// Features over measured: the right side is then all ones, and residuals are relative errors.
Eigen::MatrixXd relative_features(const std::vector<FitRow>& rows) {
  const std::size_t features = rows.front().features.size();
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()),
                         static_cast<Eigen::Index>(features));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t f = 0; f < features; ++f) {
      matrix(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(f)) =
          rows[r].features[f] / rows[r].measured;
    }
  }
  return matrix;
}

}  // namespace

double LinearFit::predict(const std::vector<double>& features) const {
  SCHEDLAB_EXPECTS(features.size() == coefficients.size(),
                   fmt::format("{} features for {}", features.size(), coefficients.size()));
  double sum = 0;
  for (std::size_t i = 0; i < features.size(); ++i) sum += coefficients[i] * features[i];
  return sum;
}

LinearFit fit_costs(const std::vector<FitRow>& rows) {
  expect_sound(rows);
  const Eigen::MatrixXd matrix = relative_features(rows);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(matrix.rows());
  const auto features = static_cast<std::size_t>(matrix.cols());
  if (matrix.colPivHouseholderQr().rank() < matrix.cols()) {
    throw InfeasibleError(fmt::format(
        "the {} features of {} rows cannot be told apart\n  give rows in which they differ, or "
        "fewer features",
        features,
        rows.size()));
  }
  LinearFit best;
  best.coefficients.assign(features, 0.0);
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t subset = 1; subset < (std::size_t{1} << features); ++subset) {
    std::vector<Eigen::Index> columns;
    for (std::size_t f = 0; f < features; ++f) {
      if ((subset >> f & 1U) != 0) columns.push_back(static_cast<Eigen::Index>(f));
    }
    const Eigen::MatrixXd part = matrix(Eigen::all, columns);
    const Eigen::VectorXd solution = part.colPivHouseholderQr().solve(ones);
    const double error = (part * solution - ones).squaredNorm();
    if (solution.minCoeff() < 0.0 || error >= smallest) continue;
    smallest = error;
    best.coefficients.assign(features, 0.0);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      best.coefficients[static_cast<std::size_t>(columns[i])] =
          solution(static_cast<Eigen::Index>(i));
    }
  }
  for (const FitRow& row : rows) {
    best.residuals.push_back(best.predict(row.features) / row.measured - 1.0);
  }
  return best;
}

}  // namespace schedlab
