// SPDX-License-Identifier: Apache-2.0
#include "hw_models/residual_fit.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <cstddef>
#include <utility>

namespace schedlab {
namespace {

constexpr double value_weight = 0.05;  // of a point, against that of a row // assumed
constexpr double loss_scale = 0.03;    // what is left beyond counts by its size // assumed
constexpr int iterations = 4;

using Weights = std::vector<GridWeight>;

Eigen::Index index(std::size_t point) {
  return static_cast<Eigen::Index>(point);
}

/// Penalties of one grid, whose points begin at `first`.
void add_penalties(const ResidualGrid& grid,
                   std::size_t first,
                   double smoothness,
                   Eigen::MatrixXd& matrix) {
  const std::size_t count = point_count(grid);
  for (std::size_t i = 0; i < count; ++i)
    matrix(index(first + i), index(first + i)) += value_weight;
  std::size_t stride = 1;
  for (std::size_t axis = residual_axis_count; axis-- > 0;) {
    const std::size_t length = grid.points[axis].size();
    if (length == 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (i / stride % length + 1 == length) continue;
      const Eigen::Index one = index(first + i);
      const Eigen::Index next = index(first + i + stride);
      matrix(one, one) += smoothness;
      matrix(next, next) += smoothness;
      matrix(one, next) -= smoothness;
      matrix(next, one) -= smoothness;
    }
    stride *= length;
  }
}

double left_of(const Weights& weights, double log_ratio, const Eigen::VectorXd& values) {
  for (const GridWeight& one : weights) log_ratio -= one.weight * values[index(one.point)];
  return log_ratio;
}

}  // namespace

std::vector<ResidualGrid> fit_residuals(std::vector<ResidualGrid> grids,
                                        const std::vector<ResidualRow>& rows,
                                        double smoothness) {
  std::vector<Weights> weights(rows.size());
  std::size_t points = 0;
  for (const ResidualGrid& grid : grids) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const GridWeight& one : grid_weights(grid, rows[i].place)) {
        weights[i].push_back({points + one.point, one.weight});
      }
    }
    points += point_count(grid);
  }
  Eigen::MatrixXd penalties = Eigen::MatrixXd::Zero(index(points), index(points));
  std::size_t first = 0;
  for (const ResidualGrid& grid : grids) {
    add_penalties(grid, first, smoothness, penalties);
    first += point_count(grid);
  }
  Eigen::VectorXd values = Eigen::VectorXd::Zero(index(points));
  for (int iteration = 0; iteration < iterations; ++iteration) {
    Eigen::MatrixXd matrix = penalties;
    Eigen::VectorXd right = Eigen::VectorXd::Zero(index(points));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double left = left_of(weights[i], rows[i].log_ratio, values) / loss_scale;
      const double counts = iteration == 0 ? 1.0 : 1.0 / std::sqrt(1.0 + left * left);
      for (const GridWeight& a : weights[i]) {
        right[index(a.point)] += counts * a.weight * rows[i].log_ratio;
        for (const GridWeight& b : weights[i]) {
          matrix(index(a.point), index(b.point)) += counts * a.weight * b.weight;
        }
      }
    }
    values = matrix.ldlt().solve(right);
  }
  first = 0;
  for (ResidualGrid& grid : grids) {
    grid.percent.resize(point_count(grid));
    for (double& percent : grid.percent) {
      percent = std::round(100.0 * values[index(first++)]);
    }
  }
  return grids;
}

}  // namespace schedlab
