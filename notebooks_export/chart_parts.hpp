// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace schedlab {

/// One line of a parts figure: numbers of either sign that add up to a total.
struct PartsRow {
  std::string name;
  std::vector<double> parts;  ///< one per name of the figure
};

struct PartsFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;  ///< with its unit
  std::vector<std::string> part_names;
  std::vector<PartsRow> rows;
  std::size_t max_rows = 60;  ///< the first ones are drawn, the others counted
  bool signed_sums = true;    ///< sums are written with their sign
};

/// Rows beneath each other: what is positive is stacked to the right of 0, what is negative to the
/// left, and a black mark at the sum, with its number at the right.
[[nodiscard]] std::string parts_figure_svg(const PartsFigure& figure);

}  // namespace schedlab
