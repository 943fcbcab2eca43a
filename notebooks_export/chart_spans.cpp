// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_spans.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace schedlab {

namespace {

constexpr double figure_width = 1100;
constexpr double heading = 64;
constexpr double row_height = 22;
constexpr double longest_name = 380;
constexpr double note_width = 110;
constexpr double logarithmic_from = 8;

class Figure {
 public:
  explicit Figure(const SpanFigure& figure) : figure_(figure) {
    double name = 60;
    const auto see = [&](const std::optional<double>& value) {
      if (!value || !std::isfinite(*value)) return;
      low_ = std::min(low_, *value);
      high_ = std::max(high_, *value);
    };
    for (const SpanRow& row : figure.rows) {
      name = std::max(name, text_width(row.name, 11));
      for (const auto& value : {row.target, row.target_low, row.target_high}) see(value);
      see(row.low);
      see(row.high);
    }
    if (figure.reference > 0) see(figure.reference);
    if (!(low_ < high_)) {
      low_ = std::isfinite(low_) ? low_ - 1 : 0;
      high_ = low_ + 2;
    }
    logarithmic_ = low_ > 0 && high_ / low_ >= logarithmic_from;
    const double room = logarithmic_ ? std::pow(high_ / low_, 0.03) : (high_ - low_) * 0.03;
    low_ = logarithmic_ ? low_ / room : low_ - room;
    high_ = logarithmic_ ? high_ * room : high_ + room;
    left_ = 22 + std::min(name, longest_name) + 12;
    right_ = figure_width - 22 - note_width;
  }

  [[nodiscard]] std::string draw() const {
    const double bottom = heading + row_height * static_cast<double>(figure_.rows.size()) + 6;
    Svg svg{figure_width, bottom + 46, figure_.title};
    svg.text({22, 28}, fitted(figure_.title, figure_width - 60, 16), {.size = 16, .bold = true});
    svg.text({22, 48}, fitted(figure_.subtitle, figure_width - 40, 12), {.fill = "#666666"});
    const Ticks ticks =
        logarithmic_ ? logarithmic_ticks(low_, high_) : linear_ticks(low_, high_, 8);
    for (const double value : ticks.values) {
      svg.line({x(value), heading - 4}, {x(value), bottom}, {.stroke = "#e2e2e2"});
      svg.text({x(value), bottom + 15}, readable(value), {.size = 10.5, .anchor = "middle"});
    }
    if (figure_.reference > 0) {
      const double at = x(figure_.reference);
      svg.line({at, heading - 4}, {at, bottom}, {.stroke = "#555555", .dash = "5 4"});
    }
    double y = heading + row_height / 2;
    for (const SpanRow& row : figure_.rows) {
      draw_row(svg, row, y);
      y += row_height;
    }
    svg.text(
        {(left_ + right_) / 2, bottom + 34}, figure_.x_label, {.size = 11.5, .anchor = "middle"});
    return std::move(svg).finish();
  }

 private:
  [[nodiscard]] double x(double value) const {
    const double share = logarithmic_
                             ? std::log(std::max(value, low_) / low_) / std::log(high_ / low_)
                             : (value - low_) / (high_ - low_);
    return left_ + std::clamp(share, 0.0, 1.0) * (right_ - left_);
  }

  void draw_row(Svg& svg, const SpanRow& row, double y) const {
    if (row.target_low || row.target_high) {
      const double from = row.target_low ? x(*row.target_low) : left_;
      const double to = row.target_high ? x(*row.target_high) : right_;
      svg.rect(from, y - 8, std::max(to - from, 1.0), 16, {.fill = "#999999", .opacity = 0.22});
    }
    svg.text({left_ - 10, y + 4}, fitted(row.name, left_ - 34, 11), {.size = 11, .anchor = "end"});
    svg.line({x(row.low), y}, {x(row.high), y}, {.stroke = row.color, .width = 1.4});
    svg.line({x(row.lower_quartile), y},
             {x(row.upper_quartile), y},
             {.stroke = row.color, .width = 7, .opacity = 0.55});
    svg.circle({x(row.median), y}, 4.2, row.color);
    if (row.target) {
      const double at = x(*row.target);
      const std::array<Point, 4> diamond{{{at, y - 6.5}, {at + 5, y}, {at, y + 6.5}, {at - 5, y}}};
      svg.polygon(diamond, "#000000", 0.85);
    }
    svg.text(
        {right_ + 10, y + 4}, fitted(row.note, note_width, 11), {.size = 11, .fill = row.color});
  }

  const SpanFigure& figure_;
  double low_ = std::numeric_limits<double>::infinity();  // nothing is seen yet
  double high_ = -std::numeric_limits<double>::infinity();
  bool logarithmic_ = false;
  double left_ = 0;
  double right_ = 0;
};

}  // namespace

std::string span_figure_svg(const SpanFigure& figure) {
  return Figure{figure}.draw();
}

}  // namespace schedlab
