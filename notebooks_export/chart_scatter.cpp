// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_scatter.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/marker.hpp"
#include "notebooks_export/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace schedlab {

namespace {

constexpr double scatter_left = 92;
constexpr double scatter_right = 48;  // of the square
constexpr std::string_view faint = "#e2e2e2";

class Scatter {
 public:
  explicit Scatter(const ScatterFigure& figure)
      : figure_(figure),
        side_(figure.side),
        width_(scatter_left + figure.side + scatter_right),
        legend_(scatter_left, width_ - 20) {
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
      legend_.add({fitted(figure.series[i].name, 300, 11), {}, LegendMark::points, i});
      for (const ScatterPoint& point : figure.series[i].points) {
        for (const double value :
             {point.x, point.y, point.x_low, point.x_high, point.y_low, point.y_high}) {
          if (figure.logarithmic && value <= 0) continue;
          low_ = std::min(low_, value);
          high_ = std::max(high_, value);
        }
      }
    }
    if (!figure.hollow_name.empty()) {
      legend_.add({figure.hollow_name, {}, LegendMark::framed});
    }
    empty_ = low_ > high_;
    if (empty_) {
      low_ = figure.logarithmic ? 1 : 0;
      high_ = 10;
    }
    if (figure.logarithmic) {
      low_ /= 1.12;
      high_ *= 1.12;
    } else {
      const double room = low_ < high_ ? 0.04 * (high_ - low_) : 0.5;
      low_ -= room;
      high_ += room;
    }
    top_ = 62 + legend_.height() + 10;
  }

  [[nodiscard]] std::string draw() const {
    Svg svg{width_, top_ + side_ + 58, figure_.title};
    svg.text({22, 28}, fitted(figure_.title, width_ - 60, 16), {.size = 16, .bold = true});
    svg.text({22, 48}, fitted(figure_.subtitle, width_ - 40, 12), {.fill = "#666666"});
    legend_.draw(svg, 62);
    draw_axes(svg);
    if (empty_) {
      svg.text({scatter_left + 20, top_ + 40}, "nothing to show: no scenario has a result");
      return std::move(svg).finish();
    }
    draw_band(svg);
    svg.line({x(low_), y(low_)}, {x(high_), y(high_)}, {.stroke = "#555555", .dash = "5 4"});
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      for (const ScatterPoint& point : figure_.series[i].points) {
        draw_point(svg, point, series_style(i));
      }
    }
    return std::move(svg).finish();
  }

 private:
  [[nodiscard]] double share(double value) const {
    if (!figure_.logarithmic) return (value - low_) / (high_ - low_);
    return std::log(std::max(value, low_) / low_) / std::log(high_ / low_);
  }
  [[nodiscard]] double x(double value) const { return scatter_left + side_ * share(value); }
  [[nodiscard]] double y(double value) const { return top_ + side_ * (1 - share(value)); }

  /// Of labels: powers of ten with their multiples by 2 and 5, as many as it takes to read a value.
  [[nodiscard]] std::vector<double> places() const {
    constexpr std::size_t few = 4;
    if (!figure_.logarithmic) return linear_ticks(low_, high_, 6).values;
    std::vector<double> values = logarithmic_ticks(low_, high_).values;
    if (values.size() >= few) return values;
    values.clear();
    for (double power = std::pow(10, std::floor(std::log10(low_))); power < high_; power *= 10) {
      for (const double multiple : {1.0, 2.0, 5.0}) {
        const double value = multiple * power;
        if (value >= low_ && value <= high_) values.push_back(value);
      }
    }
    return values.size() >= few ? values : linear_ticks(low_, high_, 6).values;
  }

  void draw_axes(Svg& svg) const {
    const double bottom = top_ + side_;
    const double right = scatter_left + side_;
    const std::vector<double> ticks = places();
    for (const double value : ticks) {
      svg.line({x(value), top_}, {x(value), bottom}, {.stroke = faint});
      svg.line({scatter_left, y(value)}, {right, y(value)}, {.stroke = faint});
      svg.text({x(value), bottom + 16}, readable(value), {.size = 10.5, .anchor = "middle"});
      svg.text({scatter_left - 7, y(value) + 4}, readable(value), {.size = 10.5, .anchor = "end"});
    }
    svg.line({scatter_left, bottom}, {right, bottom}, {.stroke = "#444444"});
    svg.line({scatter_left, top_}, {scatter_left, bottom}, {.stroke = "#444444"});
    svg.text({scatter_left + side_ / 2, bottom + 38},
             figure_.x_label,
             {.size = 11.5, .anchor = "middle"});
    svg.text({24, top_ + side_ / 2},
             figure_.y_label,
             {.size = 11.5, .anchor = "middle", .upright = true});
  }

  /// Between x / (1 + band) and x * (1 + band), cut off at the frame.
  void draw_band(Svg& svg) const {
    if (figure_.band <= 0) return;
    std::vector<Point> outline;
    constexpr int steps = 48;
    const auto at = [&](int step) {
      const double part = static_cast<double>(step) / steps;
      return figure_.logarithmic ? low_ * std::pow(high_ / low_, part)
                                 : low_ + (high_ - low_) * part;
    };
    const auto inside = [&](double value) { return std::clamp(value, low_, high_); };
    for (int i = 0; i <= steps; ++i) {
      outline.push_back({x(at(i)), y(inside(at(i) * (1 + figure_.band)))});
    }
    for (int i = steps; i >= 0; --i) {
      outline.push_back({x(at(i)), y(inside(at(i) / (1 + figure_.band)))});
    }
    svg.polygon(outline, "#999999", 0.16);
  }

  void draw_point(Svg& svg, const ScatterPoint& point, const SeriesStyle& series) const {
    const LineStyle style{.stroke = series.color, .width = 1.2, .opacity = 0.7};
    if (point.x_high > point.x_low) {
      svg.line({x(point.x_low), y(point.y)}, {x(point.x_high), y(point.y)}, style);
    }
    if (point.y_high > point.y_low) {
      svg.line({x(point.x), y(point.y_low)}, {x(point.x), y(point.y_high)}, style);
    }
    draw_marker(svg,
                {x(point.x), y(point.y)},
                {.shape = series.marker.shape, .hollow = point.hollow},
                series.color,
                4.2);
  }

  const ScatterFigure& figure_;
  double side_;
  double width_;
  Legend legend_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  bool empty_ = false;
  double top_ = 0;
};

}  // namespace

std::string scatter_figure_svg(const ScatterFigure& figure) {
  return Scatter{figure}.draw();
}

}  // namespace schedlab
