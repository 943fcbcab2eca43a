// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/axis.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/svg.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

inline constexpr double figure_width = 1100;
inline constexpr double figure_margin = 22;

/// What surrounds every chart: its heading and its legend, above the panels.
struct FigureFrame {
  std::string title;
  std::string subtitle;
  double width = figure_width;
  Legend legend{figure_margin, width - 20};

  /// Where the panels begin, in pixels from above.
  [[nodiscard]] double top() const;
  /// The picture with heading and legend; `bottom` is where its panels end.
  [[nodiscard]] Svg begin(double bottom) const;
  /// Says beneath the heading that there is nothing to draw.
  void say_empty(Svg& svg) const;
};

/// Panels side by side in rows of `columns`; a row is as high as its highest panel.
class PanelGrid {
 public:
  PanelGrid(Point corner,
            std::size_t columns,
            double panel_width,
            const std::vector<double>& heights);

  /// The upper left corner of a panel.
  [[nodiscard]] Point corner(std::size_t panel) const;
  [[nodiscard]] double panel_width() const { return panel_width_; }
  [[nodiscard]] double bottom() const { return tops_.back(); }

 private:
  double left_;
  std::size_t columns_;
  double panel_width_;
  std::vector<double> tops_;  // of the rows, and the bottom of the last
};

inline constexpr double panel_title_height = 26;
/// The title of a panel whose upper edge is at `corner.y`, in at most `width` pixels.
void draw_panel_title(Svg& svg, Point corner, std::string_view title, double width);

/// The rectangle in which a panel shows its values.
struct PlotArea {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return bottom - top; }
  [[nodiscard]] Point middle() const { return {(left + right) / 2, (top + bottom) / 2}; }
};

/// What the axis beneath an area and the axis at its left take.
inline constexpr double x_axis_height = 46;
inline constexpr double y_axis_width = 56;

/// The axis beneath an area: grid lines at `values`, their numbers, and what they are.
void draw_x_axis(Svg& svg,
                 const PlotArea& area,
                 const Scale& x,
                 const std::vector<double>& values,
                 std::string_view label);
/// The same at the left of an area.
void draw_y_axis(Svg& svg,
                 const PlotArea& area,
                 const Scale& y,
                 const std::vector<double>& values,
                 std::string_view label);
/// What the y axis of a panel shows, upright at the left of its numbers.
void draw_y_label(Svg& svg, const PlotArea& area, std::string_view label);

/// Dashed lines to compare with, across an area.
inline constexpr LineStyle reference_style{.stroke = "#555555", .dash = "5 4"};
/// Lines of axes.
inline constexpr LineStyle axis_style{.stroke = "#444444"};
inline constexpr std::string_view muted_text = "#666666";

}  // namespace schedlab
