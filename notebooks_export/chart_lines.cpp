// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart.hpp"
#include "notebooks_export/figure.hpp"
#include "notebooks_export/marker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace schedlab {

namespace {

/// Markers stand at least this far apart, in pixels: more are a thick line that hides the dashes.
constexpr double marker_distance = 14;
constexpr double left_margin = y_axis_width + figure_margin;

class LineChart {
 public:
  explicit LineChart(const LineFigure& figure)
      : figure_(figure),
        frame_{.title = figure.title, .subtitle = figure.subtitle},
        names_(figure.names) {
    std::set<std::string> shown;
    for (const LinePanel& panel : figure.panels) {
      for (const Series& series : panel.series) {
        shown.insert(series.name);
        if (std::find(names_.begin(), names_.end(), series.name) == names_.end()) {
          names_.push_back(series.name);
        }
        for (const Point point : series.points) {
          x_.add(point.x);
          y_.add(point.y);
          values_.insert(point.x);
        }
      }
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].empty() || !shown.contains(names_[i])) continue;
      frame_.legend.add({fitted(names_[i], 320, 11), {}, LegendMark::line, i});
    }
  }

  [[nodiscard]] std::string draw() const {
    const std::size_t panels = std::max<std::size_t>(figure_.panels.size(), 1);
    const std::size_t columns = panels == 1 ? 1 : panels == 2 || panels == 4 ? 2 : 3;
    const double height = columns == 1 ? 400 : columns == 2 ? 320 : 270;
    const PanelGrid grid{{0, frame_.top()},
                         columns,
                         frame_.width / static_cast<double>(columns),
                         std::vector<double>(panels, height)};
    Svg svg = frame_.begin(grid.bottom());
    if (y_.empty()) {
      frame_.say_empty(svg);
      return std::move(svg).finish();
    }
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      const Point corner = grid.corner(i);
      draw_panel(svg,
                 figure_.panels[i],
                 {.left = corner.x + left_margin,
                  .top = corner.y + panel_title_height,
                  .right = corner.x + grid.panel_width() - figure_margin,
                  .bottom = corner.y + height - x_axis_height - 6});
    }
    return std::move(svg).finish();
  }

 private:
  /// A linear axis that is nearly at zero starts there.
  [[nodiscard]] Range y_range(const LinePanel& panel) const {
    Range range = figure_.shared_y ? y_ : Range{};
    for (const Series& series : panel.series) {
      for (const Point point : series.points) range.add(point.y);
    }
    if (figure_.reference_y > 0) range.add(figure_.reference_y);
    const bool near_zero = range.low < 0.6 * range.high || range.low == range.high;
    if (range.low > 0 && near_zero && !is_logarithmic(range)) range.add(0);
    return range;
  }
  [[nodiscard]] static bool is_logarithmic(const Range& y) { return y.spans(30); }

  void draw_panel(Svg& svg, const LinePanel& panel, const PlotArea& area) const {
    const Range heights = y_range(panel);
    const Scale x{x_, !figure_.continuous_x && x_.spans(4), area.left, area.right};
    const Scale y{heights, is_logarithmic(heights), area.bottom, area.top};
    // Few values are labelled themselves: layers 2, 4, 8, 16.
    const std::vector<double> places = values_.size() <= 8 && !figure_.continuous_x
                                           ? std::vector<double>(values_.begin(), values_.end())
                                           : x.ticks(6);
    draw_panel_title(svg, {area.left, area.top - panel_title_height}, panel.title, area.width());
    draw_x_axis(svg, area, x, places, figure_.x_label);
    draw_y_axis(svg, area, y, y.ticks(5), figure_.y_label);
    if (figure_.reference_y > 0) {
      const double at = y.at(figure_.reference_y);
      svg.line({area.left, at}, {area.right, at}, reference_style);
    }
    for (const Series& series : panel.series) draw_series(svg, series, x, y);
  }

  void draw_series(Svg& svg, const Series& series, const Scale& x, const Scale& y) const {
    const auto index = static_cast<std::size_t>(
        std::find(names_.begin(), names_.end(), series.name) - names_.begin());
    const SeriesStyle style = series_style(index);
    std::vector<Point> points;
    for (const Point point : series.points) points.push_back({x.at(point.x), y.at(point.y)});
    svg.begin_group("series", index);
    svg.polyline(points, {.stroke = style.color, .width = 2, .dash = style.dash});
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point point = points[i];
      // A curve that turns back is no crowd of points.
      const bool crowded = point.x >= last && point.x - last < marker_distance;
      if (crowded && points.size() > 2) continue;
      const Point value = series.points[i];
      svg.begin_group(
          fmt::format("{}: {} at {}", series.name, readable(value.y), readable(value.x)));
      draw_marker(svg, point, style.marker, style.color);
      svg.end_group();
      last = point.x;
    }
    svg.end_group();
  }

  const LineFigure& figure_;
  FigureFrame frame_;
  std::vector<std::string> names_;
  Range x_;
  Range y_;
  std::set<double> values_;  // of x
};

}  // namespace

std::string line_figure_svg(const LineFigure& figure) {
  return LineChart{figure}.draw();
}

}  // namespace schedlab
