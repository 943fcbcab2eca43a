// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/residual_grid.hpp"

#include <vector>

namespace schedlab {

struct ResidualRow {
  ResidualPlace place{};
  double log_ratio = 0;  ///< ln(measured / model)
};

/// The percentages of `grids`, of which only `points` are read: least squares of what the sum of
/// all grids leaves of the rows, plus neighbour differences^2 x smoothness and values^2 x 0.05 in
/// place of rows where there are none. Rows count by weights 1 / sqrt(1 + (left / 3 %)^2), set
/// anew three times. Rounded to whole ones.
///
/// Shapes   rows: any number, places above 0 on the axes in use.
/// Cost     4 x (points of all grids)^3 / 3: seconds for some thousand points.
[[nodiscard]] std::vector<ResidualGrid> fit_residuals(std::vector<ResidualGrid> grids,
                                                      const std::vector<ResidualRow>& rows,
                                                      double smoothness);

}  // namespace schedlab
