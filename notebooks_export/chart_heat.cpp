// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_heat.hpp"

#include "notebooks_export/figure.hpp"
#include "notebooks_export/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {

namespace {

constexpr double cell_height = 24;
constexpr double min_cell_width = 40;
constexpr double max_cell_width = 74;
constexpr double panel_gap = 26;
constexpr double panel_foot = 54;  // values of the columns, and the name of their axis
constexpr double row_axis = 18;    // the name of the rows, upright
constexpr double color_scale_height = 58;
constexpr double cell_text_size = 11;
/// The colour scale ends at this factor: beyond it cells are as dark as they get.
constexpr double max_factor = 2.5;

class HeatChart {
 public:
  explicit HeatChart(const HeatFigure& figure)
      : figure_(figure),
        columns_(static_cast<double>(std::max<std::size_t>(figure.x_values.size(), 1))),
        rows_(static_cast<double>(figure.y_values.size())) {
    double row_values = 0;
    for (const std::string& value : figure.y_values) {
      row_values = std::max(row_values, text_width(value, cell_text_size));
    }
    left_ = row_axis + row_values + 10;
    double title = 0;
    for (const HeatPanel& panel : figure.panels) {
      title = std::max(title, text_width(panel.title, 12, true));
    }
    const double space = figure_width - 2 * figure_margin + panel_gap;  // the last has no gap
    const double narrowest = left_ + std::max(columns_ * min_cell_width, title) + panel_gap;
    per_row_ = std::clamp<std::size_t>(static_cast<std::size_t>(space / narrowest),
                                       1,
                                       std::max<std::size_t>(figure.panels.size(), 1));
    const double widest = space / static_cast<double>(per_row_) - left_ - panel_gap;
    cell_width_ = std::min(widest / columns_, max_cell_width);
    panel_width_ = std::min(left_ + std::max(columns_ * cell_width_, title) + panel_gap, space);
    for (const HeatPanel& panel : figure.panels) {
      for (const auto& row : panel.cells) {
        for (const auto& value : row) {
          if (value && *value > 0) {
            factor_ = std::max(factor_, std::exp(std::abs(std::log(*value / figure.neutral))));
          }
        }
      }
    }
    factor_ = std::min(factor_, max_factor);
  }

  [[nodiscard]] std::string draw() const {
    const FigureFrame frame{.title = figure_.title, .subtitle = figure_.subtitle};
    const PanelGrid grid{
        {figure_margin, frame.top()},
        per_row_,
        panel_width_,
        std::vector(figure_.panels.size(), panel_title_height + cell_height * rows_ + panel_foot)};
    Svg svg = frame.begin(grid.bottom() + color_scale_height);
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      draw_panel(svg, figure_.panels[i], grid.corner(i));
    }
    if (figure_.panels.empty()) {
      frame.say_empty(svg);
    } else {
      draw_color_scale(svg, grid.bottom() + 8);
    }
    return std::move(svg).finish();
  }

 private:
  /// Where a value stands between the ends of the colour scale: -1 .. 1.
  [[nodiscard]] double place(double value) const {
    if (value <= 0 || factor_ <= 1) return 0;
    return std::clamp(std::log(value / figure_.neutral) / std::log(factor_), -1.0, 1.0);
  }

  void draw_panel(Svg& svg, const HeatPanel& panel, Point corner) const {
    const double x0 = corner.x + left_;
    const double y0 = corner.y + panel_title_height;
    const double foot = y0 + cell_height * rows_;
    draw_panel_title(svg, {x0, corner.y}, panel.title, panel_width_ - left_);
    for (std::size_t row = 0; row < figure_.y_values.size(); ++row) {
      const double y = foot - cell_height * static_cast<double>(row + 1);
      svg.text({x0 - 6, y + cell_height / 2 + 4},
               figure_.y_values[row],
               {.size = cell_text_size, .anchor = "end"});
      for (std::size_t column = 0; column < figure_.x_values.size(); ++column) {
        const std::optional<double>& value = panel.cells[row][column];
        if (value) {
          svg.begin_group(fmt::format("{} {}, {} {}: {}",
                                      figure_.x_label,
                                      figure_.x_values[column],
                                      figure_.y_label,
                                      figure_.y_values[row],
                                      readable(*value)));
        }
        draw_cell(svg, value, x0 + cell_width_ * static_cast<double>(column), y);
        if (value) svg.end_group();
      }
    }
    for (std::size_t column = 0; column < figure_.x_values.size(); ++column) {
      svg.text({x0 + cell_width_ * (static_cast<double>(column) + 0.5), foot + 14},
               fitted(figure_.x_values[column], cell_width_ + 6, cell_text_size),
               {.size = cell_text_size, .anchor = "middle"});
    }
    TextStyle axis{.size = 11, .anchor = "middle", .fill = muted_text};
    svg.text({x0 + cell_width_ * columns_ / 2, foot + 32}, figure_.x_label, axis);
    axis.upright = true;
    svg.text({corner.x + 10, (y0 + foot) / 2}, figure_.y_label, axis);
  }

  void draw_cell(Svg& svg, const std::optional<double>& value, double x, double y) const {
    const std::string color = value ? diverging_color(place(*value)) : "#f4f4f4";
    svg.rect(x, y, cell_width_, cell_height, {.fill = color, .stroke = "#ffffff"});
    if (!value) return;
    svg.text({x + cell_width_ / 2, y + cell_height / 2 + 4},
             fmt::format("{:.{}f}", *value, *value < 9.995 ? 2 : 1),
             {.size = cell_text_size, .anchor = "middle", .fill = readable_on(color)});
  }

  void draw_color_scale(Svg& svg, double top) const {
    constexpr int steps = 41;
    constexpr double width = 300;
    const double left = figure_margin + left_;
    for (int i = 0; i < steps; ++i) {
      const double at = 2.0 * i / (steps - 1) - 1;
      svg.rect(
          left + width * i / steps, top, width / steps + 0.5, 12, {.fill = diverging_color(at)});
    }
    for (const double at : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      svg.text({left + width * (at + 1) / 2, top + 26},
               fmt::format("{:.2f}", figure_.neutral * std::pow(factor_, at)),
               {.size = 10.5, .anchor = "middle"});
    }
    svg.text({left + width + 24, top + 10},
             fitted(figure_.value_label, figure_width - left - width - 50, 11.5),
             {.size = 11.5});
  }

  const HeatFigure& figure_;
  double columns_;
  double rows_;
  double left_ = 0;  // of the cells, in a panel
  std::size_t per_row_ = 1;
  double cell_width_ = min_cell_width;
  double panel_width_ = 0;
  double factor_ = 1;  // from the neutral value to an end of the colour scale
};

}  // namespace

std::string heat_figure_svg(const HeatFigure& figure) {
  return HeatChart{figure}.draw();
}

}  // namespace schedlab
