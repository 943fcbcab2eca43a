// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/matrix_library.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace schedlab {

/// Where residuals are looked up, by ResidualAxis.
using ResidualPlace = std::array<double, residual_axis_count>;

/// A point of a grid and its weight; the weights of a place add up to 1.
struct GridWeight {
  std::size_t point;
  double weight;
};

/// Product of the lengths of all axes; 1 without any.
[[nodiscard]] std::size_t point_count(const ResidualGrid& grid);
/// At most two points for each axis, those of weight 0 left out.
[[nodiscard]] std::vector<GridWeight> grid_weights(const ResidualGrid& grid,
                                                   const ResidualPlace& place);
/// Measured over model: exp of the sum of all grids. 1 without any. Cost: some 100 ns a grid.
[[nodiscard]] double residual_factor(const std::vector<ResidualGrid>& grids,
                                     const ResidualPlace& place);

}  // namespace schedlab
