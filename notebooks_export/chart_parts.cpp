// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_parts.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace schedlab {

namespace {

constexpr double parts_width = 1100;
constexpr double parts_step = 20;
constexpr double parts_bar = 13;
constexpr double widest_name = 400;
constexpr double sum_width = 70;

/// The seventh colour of a plot is black, which is the mark's: grey and yellow follow instead.
[[nodiscard]] std::string_view part_color(std::size_t index) {
  if (index < 6) return series_color(index);
  return index == 6 ? okabe_ito::grey : okabe_ito::yellow;
}

class Parts {
 public:
  explicit Parts(const PartsFigure& figure) : figure_(figure), legend_(22, parts_width - 20) {
    for (std::size_t i = 0; i < figure.part_names.size(); ++i) {
      legend_.add({figure.part_names[i], std::string{part_color(i)}});
    }
    shown_ = std::min(figure.rows.size(), figure.most_rows);
    double name = 60;
    for (std::size_t i = 0; i < shown_; ++i) {
      const PartsRow& row = figure.rows[i];
      name = std::max(name, text_width(row.name, 11));
      double negative = 0;
      double positive = 0;
      for (const double part : row.parts) (part < 0 ? negative : positive) += part;
      low_ = std::min(low_, negative);
      high_ = std::max(high_, positive);
    }
    if (low_ == high_) high_ = 1;
    const double room = 0.03 * (high_ - low_);
    low_ -= room;
    high_ += room;
    left_ = 22 + std::min(name, widest_name) + 12;
    right_ = parts_width - 22 - sum_width;
    top_ = 62 + legend_.height() + 8;
  }

  [[nodiscard]] std::string draw() const {
    const double bottom = top_ + parts_step * static_cast<double>(shown_) + 4;
    Svg svg{parts_width, bottom + 48, figure_.title};
    svg.text({22, 28}, fitted(figure_.title, parts_width - 60, 16), {.size = 16, .bold = true});
    std::string subtitle = figure_.subtitle;
    if (shown_ < figure_.rows.size()) {
      subtitle += fmt::format("; the first {} of {}", shown_, figure_.rows.size());
    }
    svg.text({22, 48}, fitted(subtitle, parts_width - 40, 12), {.fill = "#666666"});
    legend_.draw(svg, 62);
    for (const double value : linear_ticks(low_, high_, 8).values) {
      svg.line({x(value), top_ - 4}, {x(value), bottom}, {.stroke = "#e2e2e2"});
      svg.text({x(value), bottom + 15}, readable(value), {.size = 10.5, .anchor = "middle"});
    }
    svg.line({x(0), top_ - 4}, {x(0), bottom}, {.stroke = "#444444"});
    for (std::size_t i = 0; i < shown_; ++i) {
      draw_row(svg, figure_.rows[i], top_ + parts_step * static_cast<double>(i));
    }
    svg.text(
        {(left_ + right_) / 2, bottom + 35}, figure_.x_label, {.size = 11.5, .anchor = "middle"});
    return std::move(svg).finish();
  }

 private:
  [[nodiscard]] double x(double value) const {
    return left_ + (right_ - left_) * (value - low_) / (high_ - low_);
  }

  void draw_row(Svg& svg, const PartsRow& row, double y) const {
    svg.text({left_ - 10, y + parts_bar / 2 + 4},
             fitted(row.name, left_ - 34, 11),
             {.size = 11, .anchor = "end"});
    double negative = 0;
    double positive = 0;
    for (std::size_t i = 0; i < row.parts.size(); ++i) {
      double& edge = row.parts[i] < 0 ? negative : positive;
      const double from = x(std::min(edge, edge + row.parts[i]));
      const double to = x(std::max(edge, edge + row.parts[i]));
      edge += row.parts[i];
      if (to - from < 0.05) continue;
      svg.rect(from, y, to - from, parts_bar, {.fill = part_color(i)});
    }
    const double sum = std::accumulate(row.parts.begin(), row.parts.end(), 0.0);
    svg.line({x(sum), y - 2}, {x(sum), y + parts_bar + 2}, {.stroke = "#000000", .width = 2.4});
    const std::string text = figure_.signed_sums ? fmt::format("{:+.1f}", sum) : readable(sum);
    svg.text({right_ + 10, y + parts_bar / 2 + 4}, text, {.size = 11});
  }

  const PartsFigure& figure_;
  Legend legend_;
  std::size_t shown_ = 0;
  double low_ = 0;
  double high_ = 0;
  double left_ = 0;
  double right_ = 0;
  double top_ = 0;
};

}  // namespace

std::string parts_figure_svg(const PartsFigure& figure) {
  return Parts{figure}.draw();
}

}  // namespace schedlab
