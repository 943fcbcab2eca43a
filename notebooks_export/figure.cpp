// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/figure.hpp"

#include <algorithm>

namespace schedlab {

namespace {

constexpr double legend_top = 62;
constexpr LineStyle grid_style{.stroke = "#e2e2e2"};
constexpr double number_size = 10.5;
constexpr double label_size = 11.5;

}  // namespace

double FigureFrame::top() const {
  const double legend_height = legend.height();
  return legend_height > 0 ? legend_top + legend_height + 10 : legend_top + 2;
}

Svg FigureFrame::begin(double bottom) const {
  Svg svg{width, bottom, title};
  const double space = width - 2 * figure_margin;
  svg.text({figure_margin, 28}, fitted(title, space / 1.12, 16), {.size = 16, .bold = true});
  svg.text({figure_margin, 48}, fitted(subtitle, space, 12), {.fill = muted_text});
  legend.draw(svg, legend_top);
  return svg;
}

void FigureFrame::say_empty(Svg& svg) const {
  svg.text({figure_margin + 8, top() + 40}, "nothing to show: no scenario has a result");
}

PanelGrid::PanelGrid(Point corner,
                     std::size_t columns,
                     double panel_width,
                     const std::vector<double>& heights)
    : left_(corner.x), columns_(columns), panel_width_(panel_width), tops_{corner.y} {
  for (std::size_t i = 0; i < heights.size(); i += columns) {
    const auto begin = heights.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(columns, heights.size() - i));
    tops_.push_back(tops_.back() + *std::max_element(begin, end));
  }
}

Point PanelGrid::corner(std::size_t panel) const {
  return {left_ + panel_width_ * static_cast<double>(panel % columns_), tops_[panel / columns_]};
}

void draw_panel_title(Svg& svg, Point corner, std::string_view title, double width) {
  svg.text({corner.x, corner.y + 15}, fitted(title, width / 1.12, 12), {.size = 12, .bold = true});
}

void draw_x_axis(Svg& svg,
                 const PlotArea& area,
                 const Scale& x,
                 const std::vector<double>& values,
                 std::string_view label) {
  for (const double value : values) {
    const double at = x.at(value);
    svg.line({at, area.top}, {at, area.bottom}, grid_style);
    svg.text({at, area.bottom + 16}, readable(value), {.size = number_size, .anchor = "middle"});
  }
  svg.line({area.left, area.bottom}, {area.right, area.bottom}, axis_style);
  svg.text({area.middle().x, area.bottom + 35}, label, {.size = label_size, .anchor = "middle"});
}

void draw_y_axis(Svg& svg,
                 const PlotArea& area,
                 const Scale& y,
                 const std::vector<double>& values,
                 std::string_view label) {
  for (const double value : values) {
    const double at = y.at(value);
    svg.line({area.left, at}, {area.right, at}, grid_style);
    svg.text({area.left - 7, at + 4}, readable(value), {.size = number_size, .anchor = "end"});
  }
  svg.line({area.left, area.top}, {area.left, area.bottom}, axis_style);
  draw_y_label(svg, area, label);
}

void draw_y_label(Svg& svg, const PlotArea& area, std::string_view label) {
  svg.text({area.left - y_axis_width, area.middle().y},
           label,
           {.size = label_size, .anchor = "middle", .upright = true});
}

}  // namespace schedlab
