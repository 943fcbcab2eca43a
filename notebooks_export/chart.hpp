// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/svg.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// One line of a plot: points by rising x.
struct Series {
  std::string name;
  std::vector<Point> points;
};

/// One plot of a figure.
struct LinePanel {
  std::string title;
  std::vector<Series> series;
};

/// Plots side by side with one legend. Series of the same name have the same colour in all panels.
struct LineFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;  ///< with its unit
  std::string y_label;
  std::vector<LinePanel> panels;
  /// Order of the legend and of the colours, so that they are the same in several figures. Names
  /// that no panel has are left out; series that are not among them follow.
  std::vector<std::string> names{};
  bool shared_y = false;      ///< one scale for all panels
  double reference_y = 0;     ///< a dashed line at this height; 0: none
  bool continuous_x = false;  ///< as time is: x linear, and marked at round numbers
};

/// Axes become logarithmic where the range asks for it: x if its values span a factor of 4 and
/// more, y from a factor of 30 on. The series of an empty panel list give a picture that says so.
[[nodiscard]] std::string line_figure_svg(const LineFigure& figure);

/// One horizontal bar, with the range of what its value is the mean of.
struct NamedBar {
  std::string name;
  double value = 0;
  double low = 0;
  double high = 0;
  bool emphasized = false;
  double mark = 0;  ///< a diamond there: what part of the value is; 0: none
};
struct BarPanel {
  std::string title;
  std::vector<NamedBar> bars;
};
struct BarFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::vector<BarPanel> panels;
  double reference = 0;  ///< a dashed line at this value; 0: none
};
/// Horizontal bars from 0, their values written beside them. Bars of the same name have the same
/// colour.
[[nodiscard]] std::string bar_figure_svg(const BarFigure& figure);

}  // namespace schedlab
