// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/figure.hpp"

#include <cstddef>
#include <string_view>

namespace schedlab {

/// Widths of the texts at both sides of rows: names at the left, notes at the right.
struct RowTexts {
  double names = 40;
  double notes = 0;

  void add(std::string_view name, std::string_view note, bool bold = false);
};

/// Named rows beneath each other over one value axis: what bars, parts and spans are drawn in.
class RowPanel {
 public:
  /// `rows` rows from `corner` to the bottom of their axis. Names take at most two fifths of
  /// the width.
  RowPanel(Point corner, double width, const RowTexts& texts, std::size_t rows);

  [[nodiscard]] static double height(std::size_t rows);
  [[nodiscard]] const PlotArea& area() const { return area_; }
  [[nodiscard]] double middle(std::size_t row) const;

  void draw_axis(Svg& svg, const Scale& x, std::string_view label) const;
  /// A line from the first row to the last at `x`.
  void draw_upright(Svg& svg, double x, const LineStyle& style) const;
  /// `note` is set in `style`; the name is bold where the note is.
  void draw_texts(Svg& svg,
                  std::size_t row,
                  std::string_view name,
                  std::string_view note,
                  const TextStyle& style) const;
  void draw_bar(Svg& svg, std::size_t row, double from, double to, std::string_view color) const;

 private:
  PlotArea area_;
  double names_;
};

}  // namespace schedlab
