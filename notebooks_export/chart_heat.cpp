// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_heat.hpp"

#include "notebooks_export/palette.hpp"
#include "notebooks_export/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {

namespace {

constexpr double figure_width = 1100;
constexpr double heading = 64;
constexpr double margin = 22;
constexpr double cell_height = 24;
constexpr double least_cell_width = 40;
constexpr double most_cell_width = 74;
constexpr double gap = 26;
constexpr double panel_title = 22;
constexpr double panel_foot = 40;  // labels of the columns, and of their axis
constexpr double axis_label = 18;  // of the rows, upright
constexpr double title_size = 11.5;
constexpr double scale_height = 58;
constexpr std::string_view muted = "#666666";
/// The scale ends at this factor: beyond it cells are as dark as they get.
constexpr double most_factor = 2.5;

class Figure {
 public:
  explicit Figure(const HeatFigure& figure)
      : figure_(figure),
        panel_height_(panel_title + cell_height * static_cast<double>(figure.y_values.size()) +
                      panel_foot + 14) {
    double row_value = 0;
    for (const std::string& value : figure.y_values) {
      row_value = std::max(row_value, text_width(value, 11));
    }
    row_label_ = axis_label + row_value + 10;
    columns_ = static_cast<double>(std::max<std::size_t>(figure.x_values.size(), 1));
    const double room = figure_width - 2 * margin;
    double title = 0;
    for (const HeatPanel& panel : figure.panels) {
      title = std::max(title, text_width(panel.title, title_size, true));
    }
    const double least = row_label_ + std::max(columns_ * least_cell_width, title) + gap;
    per_row_ = std::clamp<std::size_t>(
        static_cast<std::size_t>(room / least), 1, std::max<std::size_t>(figure.panels.size(), 1));
    cell_width_ = std::min((room / static_cast<double>(per_row_) - row_label_ - gap) / columns_,
                           most_cell_width);
    panel_width_ = std::min(row_label_ + std::max(columns_ * cell_width_, title) + gap, room);
    for (const HeatPanel& panel : figure.panels) {
      for (const auto& row : panel.cells) {
        for (const auto& value : row) {
          if (value && *value > 0) {
            factor_ = std::max(factor_, std::exp(std::abs(std::log(*value / figure.neutral))));
          }
        }
      }
    }
    factor_ = std::min(factor_, most_factor);
  }

  [[nodiscard]] std::string draw() const {
    const std::size_t rows = (figure_.panels.size() + per_row_ - 1) / per_row_;
    const double height = heading + panel_height_ * static_cast<double>(rows) + scale_height;
    Svg svg{figure_width, height, figure_.title};
    svg.text(
        {margin, 28}, fitted(figure_.title, figure_width - 60, 16), {.size = 16, .bold = true});
    svg.text({margin, 48}, fitted(figure_.subtitle, figure_width - 40, 12), {.fill = "#666666"});
    if (figure_.panels.empty()) {
      svg.text({margin, heading + 20}, "No values to show.", {.fill = "#666666"});
    }
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      const std::size_t row = i / per_row_;
      const std::size_t column = i % per_row_;
      draw_panel(svg,
                 figure_.panels[i],
                 margin + panel_width_ * static_cast<double>(column),
                 heading + panel_height_ * static_cast<double>(row));
    }
    if (!figure_.panels.empty()) draw_scale(svg, height - scale_height + 8);
    return std::move(svg).finish();
  }

 private:
  /// Where a value stands between the ends of the scale: -1 .. 1.
  [[nodiscard]] double place(double value) const {
    if (value <= 0 || factor_ <= 1) return 0;
    return std::clamp(std::log(value / figure_.neutral) / std::log(factor_), -1.0, 1.0);
  }

  void draw_panel(Svg& svg, const HeatPanel& panel, double left, double top) const {
    const double x0 = left + row_label_;
    const double y0 = top + panel_title;
    const auto rows = static_cast<double>(figure_.y_values.size());
    svg.text({x0, top + 14},
             fitted(panel.title, panel_width_ - row_label_, title_size),
             {.size = title_size, .bold = true});
    for (std::size_t row = 0; row < figure_.y_values.size(); ++row) {
      const double y = y0 + cell_height * (rows - 1 - static_cast<double>(row));
      svg.text(
          {x0 - 6, y + cell_height / 2 + 4}, figure_.y_values[row], {.size = 11, .anchor = "end"});
      for (std::size_t column = 0; column < figure_.x_values.size(); ++column) {
        draw_cell(svg, panel.cells[row][column], x0 + cell_width_ * static_cast<double>(column), y);
      }
    }
    const double foot = y0 + cell_height * rows;
    for (std::size_t column = 0; column < figure_.x_values.size(); ++column) {
      svg.text({x0 + cell_width_ * (static_cast<double>(column) + 0.5), foot + 14},
               fitted(figure_.x_values[column], cell_width_ + 6, 11),
               {.size = 11, .anchor = "middle"});
    }
    svg.text({x0 + cell_width_ * columns_ / 2, foot + 32},
             figure_.x_label,
             {.size = 11, .anchor = "middle", .fill = muted});
    svg.text({left + 10, y0 + cell_height * rows / 2},
             figure_.y_label,
             {.size = 11, .anchor = "middle", .fill = muted, .upright = true});
  }

  void draw_cell(Svg& svg, const std::optional<double>& value, double x, double y) const {
    if (!value) {
      svg.rect(x, y, cell_width_, cell_height, {.fill = "#f4f4f4", .stroke = "#ffffff"});
      return;
    }
    const std::string color = diverging_color(place(*value));
    svg.rect(x, y, cell_width_, cell_height, {.fill = color, .stroke = "#ffffff"});
    svg.text({x + cell_width_ / 2, y + cell_height / 2 + 4},
             fmt::format("{:.{}f}", *value, *value < 9.995 ? 2 : 1),
             {.size = 11, .anchor = "middle", .fill = readable_on(color)});
  }

  void draw_scale(Svg& svg, double top) const {
    constexpr int steps = 41;
    constexpr double width = 300;
    const double left = margin + row_label_;
    for (int i = 0; i < steps; ++i) {
      const double at = 2.0 * i / (steps - 1) - 1;
      svg.rect(
          left + width * i / steps, top, width / steps + 0.5, 12, {.fill = diverging_color(at)});
    }
    for (const double at : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      const double value = figure_.neutral * std::exp(at * std::log(factor_));
      svg.text({left + width * (at + 1) / 2, top + 26},
               fmt::format("{:.2f}", value),
               {.size = 10.5, .anchor = "middle"});
    }
    svg.text({left + width + 24, top + 10},
             fitted(figure_.value_label, figure_width - left - width - 50, 11.5),
             {.size = 11.5});
  }

  const HeatFigure& figure_;
  double row_label_ = 0;
  double columns_ = 1;
  std::size_t per_row_ = 1;
  double cell_width_ = least_cell_width;
  double panel_width_ = 0;
  double panel_height_ = 0;
  double factor_ = 1;
};

}  // namespace

std::string heat_figure_svg(const HeatFigure& figure) {
  return Figure{figure}.draw();
}

}  // namespace schedlab
