// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One line of a span figure: what was found, and what was to be found.
struct SpanRow {
  std::string name;
  std::string note;   ///< beside the span
  std::string color;  ///< "#rrggbb"
  double low = 0, lower_quartile = 0, median = 0, upper_quartile = 0, high = 0;
  /// What it is held against: a number, or a range (open ends: nullopt).
  std::optional<double> target, target_low, target_high;
};

/// Rows beneath each other on one axis.
struct SpanFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::vector<SpanRow> rows;
  double reference = 0;  ///< a dashed line; 0: none
};

/// A thin line from lowest to highest, a thick one over the middle half, a dot at the median, a
/// diamond at the number and a grey band over the range it is held against. The axis is
/// logarithmic where the values span a factor of 8 and more.
[[nodiscard]] std::string span_figure_svg(const SpanFigure& figure);

}  // namespace schedlab
