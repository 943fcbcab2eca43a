// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace schedlab {

/// One point with its uncertainty in both directions; low == high: none.
struct ScatterPoint {
  double x = 0;
  double y = 0;
  double x_low = 0, x_high = 0;
  double y_low = 0, y_high = 0;
  bool hollow = false;
};

struct ScatterSeries {
  std::string name;
  std::vector<ScatterPoint> points;
};

/// Points around the diagonal y = x, both axes with one scale.
struct ScatterFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;  ///< with its unit
  std::string y_label;
  std::vector<ScatterSeries> series;
  std::string hollow_name;   ///< what hollow points mean, for the legend; empty: there are none
  bool logarithmic = false;  ///< both axes; then all values must be above 0
  double side = 560;         ///< of the square, in pixels
  double band = 0;           ///< y from x / (1 + band) to x * (1 + band) is shaded; 0: no band
};

[[nodiscard]] std::string scatter_figure_svg(const ScatterFigure& figure);

}  // namespace schedlab
