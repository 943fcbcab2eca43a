// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/marker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace schedlab {

namespace {

constexpr double figure_width = 1100;
constexpr std::string_view muted = "#666666";
constexpr std::string_view grid = "#e2e2e2";
/// Markers stand at least this far apart, in pixels: more are a thick line that hides the dashes.
constexpr double marker_distance = 14;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] bool empty() const { return low > high; }
  [[nodiscard]] bool spans(double factor) const { return low > 0 && high / low >= factor; }
};

/// One axis: values to pixels.
class Scale {
 public:
  Scale(Range range, bool logarithmic, double from, double to)
      : low_(range.low), high_(range.high), logarithmic_(logarithmic), from_(from), to_(to) {}

  [[nodiscard]] double at(double value) const {
    const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                      : (value - low_) / (high_ - low_);
    return from_ + (to_ - from_) * share;
  }
  [[nodiscard]] Ticks ticks(int wanted) const {
    return logarithmic_ ? logarithmic_ticks(low_, high_) : linear_ticks(low_, high_, wanted);
  }

 private:
  double low_;
  double high_;
  bool logarithmic_;
  double from_;
  double to_;
};

/// Room around the data; a linear axis that is nearly at zero starts there.
[[nodiscard]] Range padded(Range range, bool logarithmic, bool from_zero) {
  if (range.empty()) return {0, 1};
  if (logarithmic) return {range.low / 1.15, range.high * 1.15};
  if (from_zero && range.low > 0 && range.low < 0.6 * range.high) range.low = 0;
  if (from_zero && range.low > 0 && range.low == range.high) return {0, 1.2 * range.high};
  if (range.low == range.high) return {range.low - 0.5, range.high + 0.5};
  const double margin = 0.06 * (range.high - range.low);
  return {range.low == 0 ? 0 : range.low - margin, range.high + margin};
}

class Figure {
 public:
  explicit Figure(const LineFigure& figure)
      : figure_(figure), legend_(30, figure_width - 20), names_(figure.names) {
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
      if (!names_[i].empty() && shown.contains(names_[i]))
        legend_.add({fitted(names_[i], 320, 11), {}, LegendMark::line, i});
    }
    const std::size_t panels = std::max<std::size_t>(figure.panels.size(), 1);
    columns_ = panels == 1 ? 1 : panels == 2 || panels == 4 ? 2 : 3;
    rows_ = (panels + columns_ - 1) / columns_;
    panel_width_ = figure_width / static_cast<double>(columns_);
    panel_height_ = columns_ == 1 ? 400 : columns_ == 2 ? 320 : 270;
    top_ = 66 + legend_.height() + 8;
  }

  [[nodiscard]] std::string draw() const {
    Svg svg{figure_width, top_ + static_cast<double>(rows_) * panel_height_ + 6, figure_.title};
    svg.text({22, 28}, fitted(figure_.title, figure_width - 60, 17), {.size = 16, .bold = true});
    svg.text({22, 48}, fitted(figure_.subtitle, figure_width - 40, 12), {.fill = muted});
    legend_.draw(svg, 62);
    if (y_.empty()) svg.text({30, top_ + 40}, "nothing to show: no scenario has a result");
    for (std::size_t i = 0; i < figure_.panels.size() && !y_.empty(); ++i) {
      const double left = static_cast<double>(i % columns_) * panel_width_;
      const std::size_t row = i / columns_;
      const double top = top_ + static_cast<double>(row) * panel_height_;
      draw_panel(svg, figure_.panels[i], left, top);
    }
    return std::move(svg).finish();
  }

 private:
  [[nodiscard]] Range y_range(const LinePanel& panel) const {
    if (figure_.shared_y) return y_;
    Range range;
    for (const Series& series : panel.series) {
      for (const Point point : series.points) range.add(point.y);
    }
    return range;
  }

  void draw_panel(Svg& svg, const LinePanel& panel, double left, double top) const {
    const double x0 = left + 74;
    const double x1 = left + panel_width_ - 22;
    const double y0 = top + panel_height_ - 52;
    const double y1 = top + 26;
    const bool log_x = !figure_.continuous_x && x_.spans(4);
    Range data = y_range(panel);
    if (figure_.reference_y > 0 && !data.empty()) data.add(figure_.reference_y);
    const bool log_y = data.spans(30);
    const Scale x{padded(x_, log_x, false), log_x, x0, x1};
    const Scale y{padded(data, log_y, true), log_y, y0, y1};

    svg.text({x0, top + 16}, fitted(panel.title, x1 - x0, 12.5), {.size = 12, .bold = true});
    draw_axes(svg, x, y, {x0, y0}, {x1, y1});
    if (figure_.reference_y > 0 && !data.empty()) {
      const double at = y.at(figure_.reference_y);
      svg.line({x0, at}, {x1, at}, {.stroke = "#555555", .dash = "5 4"});
    }
    for (const Series& series : panel.series) draw_series(svg, series, x, y);
  }

  void draw_axes(Svg& svg, const Scale& x, const Scale& y, Point origin, Point corner) const {
    const Ticks heights = y.ticks(5);
    for (const double value : heights.values) {
      const double at = y.at(value);
      svg.line({origin.x, at}, {corner.x, at}, {.stroke = grid});
      svg.text({origin.x - 7, at + 4}, readable(value), {.size = 10.5, .anchor = "end"});
    }
    // Few values are labelled themselves: layers 2, 4, 8, 16.
    const std::vector<double> places = values_.size() <= 8 && !figure_.continuous_x
                                           ? std::vector<double>(values_.begin(), values_.end())
                                           : x.ticks(6).values;
    for (const double value : places) {
      const double at = x.at(value);
      svg.line({at, origin.y}, {at, origin.y + 5}, {.stroke = "#444444"});
      svg.text({at, origin.y + 18}, readable(value), {.size = 10.5, .anchor = "middle"});
    }
    svg.line(origin, {corner.x, origin.y}, {.stroke = "#444444"});
    svg.text({(origin.x + corner.x) / 2, origin.y + 37},
             figure_.x_label,
             {.size = 11.5, .anchor = "middle"});
    svg.text({origin.x - 56, (origin.y + corner.y) / 2},
             figure_.y_label,
             {.size = 11.5, .anchor = "middle", .upright = true});
  }

  void draw_series(Svg& svg, const Series& series, const Scale& x, const Scale& y) const {
    const auto index = static_cast<std::size_t>(
        std::find(names_.begin(), names_.end(), series.name) - names_.begin());
    const SeriesStyle style = series_style(index);
    std::vector<Point> points;
    for (const Point point : series.points) points.push_back({x.at(point.x), y.at(point.y)});
    svg.polyline(points, {.stroke = style.color, .width = 2, .dash = style.dash});
    double last = -std::numeric_limits<double>::infinity();
    for (const Point point : points) {
      // A curve that turns back is no crowd of points.
      const bool crowded = point.x >= last && point.x - last < marker_distance;
      if (crowded && points.size() > 2) continue;
      draw_marker(svg, point, style.marker, style.color);
      last = point.x;
    }
  }

  const LineFigure& figure_;
  Legend legend_;
  std::vector<std::string> names_;
  Range x_;
  Range y_;
  std::set<double> values_;  // of x
  std::size_t columns_ = 1;
  std::size_t rows_ = 1;
  double panel_width_ = figure_width;
  double panel_height_ = 400;
  double top_ = 0;
};

}  // namespace

std::string line_figure_svg(const LineFigure& figure) {
  return Figure{figure}.draw();
}

}  // namespace schedlab
