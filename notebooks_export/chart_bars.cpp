// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart.hpp"
#include "notebooks_export/palette.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace schedlab {

namespace {

constexpr double figure_width = 1100;
constexpr double bar_height = 17;
constexpr double bar_step = 23;
constexpr double heading = 64;
constexpr double longest_label = 230;

class Figure {
 public:
  explicit Figure(const BarFigure& figure) : figure_(figure) {
    double label = 40;
    for (const BarPanel& panel : figure.panels) {
      for (const NamedBar& bar : panel.bars) {
        color_of_.try_emplace(bar.name, color_of_.size());
        most_ = std::max({most_, bar.value, bar.high, bar.mark});
        label = std::max(label, text_width(bar.name, 11));
      }
    }
    most_ = std::max(most_, figure.reference);
    if (most_ <= 0) most_ = 1;
    label_width_ = std::min(label, longest_label) + 14;
    columns_ = figure.panels.size() > 1 ? 2 : 1;
    panel_width_ = figure_width / static_cast<double>(columns_);
  }

  [[nodiscard]] std::string draw() const {
    std::vector<double> tops;  // of the rows of panels, and the bottom
    tops.push_back(heading);
    for (std::size_t i = 0; i < figure_.panels.size(); i += columns_) {
      std::size_t bars = 1;
      for (std::size_t j = i; j < std::min(i + columns_, figure_.panels.size()); ++j) {
        bars = std::max(bars, figure_.panels[j].bars.size());
      }
      tops.push_back(tops.back() + 34 + bar_step * static_cast<double>(bars) + 46);
    }
    Svg svg{figure_width, tops.back() + 4, figure_.title};
    svg.text({22, 28}, fitted(figure_.title, figure_width - 60, 17), {.size = 16, .bold = true});
    svg.text({22, 48}, fitted(figure_.subtitle, figure_width - 40, 12), {.fill = "#666666"});
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      draw_panel(svg,
                 figure_.panels[i],
                 static_cast<double>(i % columns_) * panel_width_,
                 tops[i / columns_]);
    }
    return std::move(svg).finish();
  }

 private:
  /// Pixels per unit of the bars' values.
  [[nodiscard]] double scale_between(double x0, double x1) const {
    return (x1 - x0) / (1.04 * most_);
  }

  void draw_panel(Svg& svg, const BarPanel& panel, double left, double top) const {
    const double x0 = left + 22 + label_width_;
    const double x1 = left + panel_width_ - 66;
    const double scale = scale_between(x0, x1);
    const double bars_top = top + 26;
    const double bottom = bars_top + bar_step * static_cast<double>(panel.bars.size());

    svg.text({left + 22, top + 15},
             fitted(panel.title, panel_width_ - 40, 12.5),
             {.size = 12, .bold = true});
    for (const double value : linear_ticks(0, 1.04 * most_, 5).values) {
      const double x = x0 + scale * value;
      svg.line({x, bars_top - 2}, {x, bottom}, {.stroke = "#e2e2e2"});
      svg.text({x, bottom + 15}, readable(value), {.size = 10.5, .anchor = "middle"});
    }
    svg.line({x0, bars_top - 2}, {x0, bottom}, {.stroke = "#444444"});
    double y = bars_top;
    for (const NamedBar& bar : panel.bars) {
      draw_bar(svg, bar, x0, x1, y);
      y += bar_step;
    }
    if (figure_.reference > 0) {
      const double x = x0 + scale * figure_.reference;
      svg.line({x, bars_top - 2}, {x, bottom}, {.stroke = "#555555", .dash = "5 4"});
    }
    svg.text({(x0 + x1) / 2, bottom + 33}, figure_.x_label, {.size = 11.5, .anchor = "middle"});
  }

  void draw_bar(Svg& svg, const NamedBar& bar, double x0, double x1, double y) const {
    const double scale = scale_between(x0, x1);
    const double middle = y + bar_height / 2;
    svg.text({x0 - 8, middle + 4},
             fitted(bar.name, longest_label, 11),
             {.size = 11, .anchor = "end", .bold = bar.emphasized});
    svg.rect(x0, y, scale * bar.value, bar_height, {.fill = series_color(color_of_.at(bar.name))});
    if (bar.high > bar.low) {
      const LineStyle style{.stroke = "#222222", .width = 1.2};
      svg.line({x0 + scale * bar.low, middle}, {x0 + scale * bar.high, middle}, style);
      for (const double value : {bar.low, bar.high}) {
        svg.line({x0 + scale * value, middle - 4}, {x0 + scale * value, middle + 4}, style);
      }
    }
    if (bar.mark > 0) {
      const double x = x0 + scale * bar.mark;
      for (const auto& [half, fill] : {std::pair{6.0, "#222222"}, std::pair{4.4, "#ffffff"}}) {
        const std::array<Point, 4> corners{
            {{x - half, middle}, {x, middle - half}, {x + half, middle}, {x, middle + half}}};
        svg.polygon(corners, fill);
      }
    }
    // In a column, where no range and no reference crosses them.
    svg.text({x1 + 8, middle + 4},
             readable(std::round(bar.value * 1000) / 1000),
             {.size = 11, .bold = bar.emphasized});
  }

  const BarFigure& figure_;
  std::map<std::string, std::size_t> color_of_;
  double most_ = 0;
  double label_width_ = 0;
  std::size_t columns_ = 1;
  double panel_width_ = figure_width;
};

}  // namespace

std::string bar_figure_svg(const BarFigure& figure) {
  return Figure{figure}.draw();
}

}  // namespace schedlab
