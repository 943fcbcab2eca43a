// SPDX-License-Identifier: Apache-2.0
#include "hw_models/residual_grid.hpp"

#include <algorithm>
#include <cmath>

namespace schedlab {

std::size_t point_count(const ResidualGrid& grid) {
  std::size_t count = 1;
  for (const std::vector<double>& points : grid.points) {
    if (!points.empty()) count *= points.size();
  }
  return count;
}

std::vector<GridWeight> grid_weights(const ResidualGrid& grid, const ResidualPlace& place) {
  std::vector<GridWeight> weights{{0, 1.0}};
  for (std::size_t axis = 0; axis < residual_axis_count; ++axis) {
    const std::vector<double>& points = grid.points[axis];
    if (points.empty()) continue;
    const double at = std::clamp(place[axis], points.front(), points.back());
    const auto above = std::upper_bound(points.begin() + 1, points.end() - 1, at);
    const auto low = static_cast<std::size_t>(above - points.begin()) - 1;
    const double high_share = std::log(at / points[low]) / std::log(points[low + 1] / points[low]);
    std::vector<GridWeight> next;
    for (const GridWeight& one : weights) {
      const std::size_t point = one.point * points.size() + low;
      if (high_share < 1) next.push_back({point, one.weight * (1 - high_share)});
      if (high_share > 0) next.push_back({point + 1, one.weight * high_share});
    }
    weights = std::move(next);
  }
  return weights;
}

double residual_factor(const std::vector<ResidualGrid>& grids, const ResidualPlace& place) {
  double percent = 0.0;
  for (const ResidualGrid& grid : grids) {
    for (const GridWeight& one : grid_weights(grid, place)) {
      percent += one.weight * grid.percent[one.point];
    }
  }
  return std::exp(percent / 100.0);
}

}  // namespace schedlab
