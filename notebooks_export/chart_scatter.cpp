// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_scatter.hpp"

#include "notebooks_export/figure.hpp"
#include "notebooks_export/marker.hpp"

#include <fmt/format.h>

namespace schedlab {

namespace {

/// The area between x / (1 + band) and x * (1 + band), cut off at the frame.
void draw_band(Svg& svg, double band, const Scale& x, const Scale& y) {
  constexpr int steps = 48;
  std::vector<Point> outline;
  const auto add = [&](int step, double factor) {
    const double value = x.value(static_cast<double>(step) / steps);
    outline.push_back({x.at(value), y.at(value * factor)});
  };
  for (int i = 0; i <= steps; ++i) add(i, 1 + band);
  for (int i = steps; i >= 0; --i) add(i, 1 / (1 + band));
  svg.polygon(outline, "#999999", 0.16);
}

/// The marker over lines that span its uncertainty.
void draw_point(Svg& svg,
                const ScatterPoint& point,
                const SeriesStyle& series,
                const Scale& x,
                const Scale& y) {
  const LineStyle style{.stroke = series.color, .width = 1.2, .opacity = 0.7};
  const Point at{x.at(point.x), y.at(point.y)};
  if (point.x_high > point.x_low) {
    svg.line({x.at(point.x_low), at.y}, {x.at(point.x_high), at.y}, style);
  }
  if (point.y_high > point.y_low) {
    svg.line({at.x, y.at(point.y_low)}, {at.x, y.at(point.y_high)}, style);
  }
  draw_marker(svg, at, {series.marker.shape, point.hollow}, series.color, 4.2);
}

}  // namespace

std::string scatter_figure_svg(const ScatterFigure& figure) {
  const double left = y_axis_width + figure_margin;
  FigureFrame frame{.title = figure.title,
                    .subtitle = figure.subtitle,
                    .width = left + figure.side + 2 * figure_margin};
  Range values;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    frame.legend.add({fitted(figure.series[i].name, 300, 11), {}, LegendMark::points, i});
    for (const ScatterPoint& point : figure.series[i].points) {
      for (const double value :
           {point.x, point.y, point.x_low, point.x_high, point.y_low, point.y_high}) {
        if (value > 0 || !figure.logarithmic) values.add(value);
      }
    }
  }
  if (!figure.hollow_name.empty()) frame.legend.add({figure.hollow_name, {}, LegendMark::framed});
  const PlotArea area{.left = left,
                      .top = frame.top(),
                      .right = left + figure.side,
                      .bottom = frame.top() + figure.side};
  const Scale x{values, figure.logarithmic, area.left, area.right};
  const Scale y{values, figure.logarithmic, area.bottom, area.top};
  Svg svg = frame.begin(area.bottom + x_axis_height);
  draw_x_axis(svg, area, x, x.ticks(6), figure.x_label);
  draw_y_axis(svg, area, y, y.ticks(6), figure.y_label);
  if (values.empty()) {
    frame.say_empty(svg);
    return std::move(svg).finish();
  }
  if (figure.band > 0) draw_band(svg, figure.band, x, y);
  svg.line({area.left, area.bottom}, {area.right, area.top}, reference_style);
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    svg.begin_group("series", i);
    for (const ScatterPoint& point : figure.series[i].points) {
      svg.begin_group(
          fmt::format("{}: {}, {}", figure.series[i].name, readable(point.x), readable(point.y)));
      draw_point(svg, point, series_style(i), x, y);
      svg.end_group();
    }
    svg.end_group();
  }
  return std::move(svg).finish();
}

}  // namespace schedlab
