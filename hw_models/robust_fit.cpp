// SPDX-License-Identifier: Apache-2.0
#include "hw_models/robust_fit.hpp"

#include "sim/base/error.hpp"

#include <Eigen/Cholesky>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace schedlab {
namespace {

constexpr double difference = 1e-3;  // of a parameter, for its derivative
constexpr double enough = 1e-5;      // relative gain below which the search ends
constexpr double interval_95 = 1.96;

double loss(double residual, double scale) {
  const double z = residual / scale;
  return 2.0 * scale * scale * (std::sqrt(1.0 + z * z) - 1.0);
}

double total_loss(const std::vector<double>& residuals, double scale) {
  double sum = 0.0;
  for (const double residual : residuals) sum += loss(residual, scale);
  return sum;
}

using Bounds = std::vector<std::pair<double, double>>;

/// Weighted normal equations at a point.
struct Normal {
  Eigen::MatrixXd curvature;
  Eigen::VectorXd gradient;
  double weighted_squares = 0;
};

Normal normal_at(const ResidualsAt& residuals_at,
                 const std::vector<double>& at,
                 const std::vector<double>& residuals,
                 const Bounds& bounds,
                 double scale) {
  const auto rows = static_cast<Eigen::Index>(residuals.size());
  const auto columns = static_cast<Eigen::Index>(at.size());
  Eigen::MatrixXd slopes(rows, columns);
  std::vector<double> moved;
  for (Eigen::Index j = 0; j < columns; ++j) {
    std::vector<double> there = at;
    const auto index = static_cast<std::size_t>(j);
    const double step = at[index] + difference <= bounds[index].second ? difference : -difference;
    there[index] += step;
    residuals_at(there, moved);
    for (Eigen::Index i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      slopes(i, j) = (moved[row] - residuals[row]) / step;
    }
  }
  Eigen::VectorXd weights(rows);
  Eigen::VectorXd all(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const double residual = residuals[static_cast<std::size_t>(i)];
    weights(i) = 1.0 / std::sqrt(1.0 + residual * residual / (scale * scale));
    all(i) = residual;
  }
  const Eigen::MatrixXd weighted = weights.asDiagonal() * slopes;
  Normal normal;
  normal.curvature = slopes.transpose() * weighted;
  normal.gradient = weighted.transpose() * all;
  normal.weighted_squares = (weights.array() * all.array().square()).sum();
  return normal;
}

std::vector<double> moved_by(const std::vector<double>& at,
                             const Eigen::VectorXd& step,
                             const Bounds& bounds) {
  std::vector<double> there = at;
  for (std::size_t j = 0; j < at.size(); ++j) {
    there[j] =
        std::clamp(at[j] - step(static_cast<Eigen::Index>(j)), bounds[j].first, bounds[j].second);
  }
  return there;
}

Bounds intervals_of(const Normal& normal,
                    const std::vector<double>& at,
                    const Bounds& bounds,
                    std::size_t rows) {
  Bounds intervals = bounds;
  Eigen::MatrixXd curvature = normal.curvature;
  for (Eigen::Index j = 0; j < curvature.rows(); ++j) curvature(j, j) += 1e-12;
  const Eigen::MatrixXd inverse =
      curvature.ldlt().solve(Eigen::MatrixXd::Identity(curvature.rows(), curvature.cols()));
  const double free = std::max(1.0, static_cast<double>(rows) - static_cast<double>(at.size()));
  for (std::size_t j = 0; j < at.size(); ++j) {
    const auto index = static_cast<Eigen::Index>(j);
    const double half = interval_95 * std::sqrt(std::max(0.0, inverse(index, index)) *
                                                normal.weighted_squares / free);
    if (normal.curvature(index, index) <= 0.0 || !std::isfinite(half)) continue;
    intervals[j] = {std::max(bounds[j].first, at[j] - half),
                    std::min(bounds[j].second, at[j] + half)};
  }
  return intervals;
}

}  // namespace

RobustFit fit_robustly(const ResidualsAt& residuals_at,
                       std::vector<double> start,
                       const Bounds& bounds,
                       double scale,
                       int iterations) {
  SCHEDLAB_EXPECTS(start.size() == bounds.size() && scale > 0,
                   fmt::format("{} parameters with {} bounds", start.size(), bounds.size()));
  RobustFit fit{.values = std::move(start), .intervals = {}};
  std::vector<double> residuals;
  residuals_at(fit.values, residuals);
  fit.cost = total_loss(residuals, scale);
  double damping = 1e-2;
  Normal normal = normal_at(residuals_at, fit.values, residuals, bounds, scale);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    double gain = 0.0;
    std::vector<double> tried;
    for (int attempt = 0; attempt < 8 && gain <= 0.0; ++attempt) {
      Eigen::MatrixXd damped = normal.curvature;
      for (Eigen::Index j = 0; j < damped.rows(); ++j) {
        damped(j, j) += damping * normal.curvature(j, j) + 1e-9;
      }
      const std::vector<double> there =
          moved_by(fit.values, damped.ldlt().solve(normal.gradient), bounds);
      residuals_at(there, tried);
      const double cost = total_loss(tried, scale);
      if (cost < fit.cost) {
        gain = (fit.cost - cost) / fit.cost;
        fit.values = there;
        fit.cost = cost;
        residuals = tried;
        damping = std::max(1e-6, damping / 4.0);
      } else {
        damping *= 4.0;
      }
    }
    if (gain <= 0.0) break;
    normal = normal_at(residuals_at, fit.values, residuals, bounds, scale);
    if (gain < enough) break;
  }
  fit.intervals = intervals_of(normal, fit.values, bounds, residuals.size());
  return fit;
}

}  // namespace schedlab
