// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One map: cells[row][column], rows from below; nullopt where there is no value.
struct HeatPanel {
  std::string title;
  std::vector<std::vector<std::optional<double>>> cells;
};

/// Maps over two axes side by side, in one colour scale. Values are ratios: the scale is
/// logarithmic and white at `neutral`.
struct HeatFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  std::string value_label;  ///< beside the colour scale
  std::vector<std::string> x_values;
  std::vector<std::string> y_values;  ///< from below
  std::vector<HeatPanel> panels;
  double neutral = 1;
};

/// Below neutral is blue, above it vermillion; every cell carries its value. Panels are set in rows
/// that fit the width. No panels give a picture that says so.
[[nodiscard]] std::string heat_figure_svg(const HeatFigure& figure);

}  // namespace schedlab
