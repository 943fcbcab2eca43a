// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_map.hpp"

#include "notebooks_export/figure.hpp"
#include "notebooks_export/marker.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace schedlab {

namespace {

constexpr double pale = 0.32;
constexpr double panel_gap_between = 24;
constexpr double one_row_height = 46;
constexpr double largest_height = 460;
constexpr std::size_t marks = 7;

/// About `marks` of the values, ends included.
[[nodiscard]] std::vector<std::size_t> marked(std::size_t values) {
  std::vector<std::size_t> chosen;
  const std::size_t count = std::min(values, marks);
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(count == 1 ? 0 : i * (values - 1) / (count - 1));
  }
  return chosen;
}

class MapChart {
 public:
  explicit MapChart(const MapFigure& figure)
      : figure_(figure),
        columns_(figure.x_values.size()),
        rows_(figure.y_values.size()),
        left_(rows_ > 1 ? y_axis_width + figure_margin : figure_margin) {
    per_row_ = std::clamp<std::size_t>(figure.panels.size(), 1, figure.panels.size() > 4 ? 3 : 2);
    panel_width_ = (figure_width - figure_margin) / static_cast<double>(per_row_);
    area_width_ = panel_width_ - left_ - panel_gap_between;
    area_height_ = rows_ > 1 ? std::min(area_width_ * 0.75, largest_height) : one_row_height;
    for (std::size_t i = 0; i < figure.regions.size(); ++i) {
      frame_.legend.add({fitted(figure.regions[i], 320, 11), std::string{color(i)}});
    }
    frame_.title = figure.title;
    frame_.subtitle = figure.subtitle;
  }

  [[nodiscard]] std::string draw() const {
    const PanelGrid grid{
        {0, frame_.top()},
        per_row_,
        panel_width_,
        std::vector(figure_.panels.size(), panel_title_height + area_height_ + x_axis_height + 8)};
    Svg svg = frame_.begin(grid.bottom());
    if (figure_.panels.empty()) frame_.say_empty(svg);
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      draw_panel(svg, figure_.panels[i], grid.corner(i));
    }
    return std::move(svg).finish();
  }

 private:
  [[nodiscard]] static std::string_view color(std::size_t region) {
    return series_style(region).color;
  }
  [[nodiscard]] std::uint32_t region(const MapPanel& panel,
                                     std::size_t column,
                                     std::size_t row) const {
    return panel.regions[row * columns_ + column];
  }
  /// The left edge of a column; that of the one behind the last is the right edge of the map.
  [[nodiscard]] double x(const PlotArea& area, double column) const {
    return area.left + area.width() * column / static_cast<double>(columns_);
  }
  [[nodiscard]] double y(const PlotArea& area, double row) const {
    return area.bottom - area.height() * row / static_cast<double>(rows_);
  }

  void draw_panel(Svg& svg, const MapPanel& panel, Point corner) const {
    const PlotArea area{.left = corner.x + left_,
                        .top = corner.y + panel_title_height,
                        .right = corner.x + left_ + area_width_,
                        .bottom = corner.y + panel_title_height + area_height_};
    draw_panel_title(svg, {area.left, corner.y}, panel.title, area_width_);
    draw_regions(svg, panel, area);
    draw_borders(svg, panel, area);
    for (const Point& place : panel.measured) {
      const std::uint32_t here =
          region(panel, static_cast<std::size_t>(place.x), static_cast<std::size_t>(place.y));
      svg.circle({x(area, place.x + 0.5), y(area, place.y + 0.5)}, 1.5, color(here));
    }
    draw_names(svg, panel, area);
    draw_axes(svg, area);
  }

  /// Runs of equal places of a row as one rectangle.
  void draw_regions(Svg& svg, const MapPanel& panel, const PlotArea& area) const {
    std::map<std::uint32_t, SvgPath> paths;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t begin = 0, end = 0; begin < columns_; begin = end) {
        const std::uint32_t here = region(panel, begin, row);
        while (end < columns_ && region(panel, end, row) == here) ++end;
        const double from = x(area, static_cast<double>(begin));
        const double width = x(area, static_cast<double>(end)) - from;
        const double height = area.height() / static_cast<double>(rows_);
        paths[here]
            .add('M', {from, y(area, static_cast<double>(row))})
            .add('h', {width})
            .add('v', {-height})
            .add('h', {-width})
            .add('z', {});
      }
    }
    for (const auto& [number, path] : paths) svg.filled_path(path, color(number), pale);
  }

  void draw_borders(Svg& svg, const MapPanel& panel, const PlotArea& area) const {
    SvgPath path;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::uint32_t here = region(panel, column, row);
        const auto at_x = static_cast<double>(column);
        const auto at_y = static_cast<double>(row);
        if (column + 1 < columns_ && region(panel, column + 1, row) != here) {
          path.add('M', {x(area, at_x + 1), y(area, at_y)});
          path.add('V', {y(area, at_y + 1)});
        }
        if (row + 1 < rows_ && region(panel, column, row + 1) != here) {
          path.add('M', {x(area, at_x), y(area, at_y + 1)});
          path.add('H', {x(area, at_x + 1)});
        }
      }
    }
    if (!path.empty()) svg.stroked_path(path, {.stroke = "#222222", .width = 1.3});
  }

  /// Each region's name in the middle of its longest row, if it fits there.
  void draw_names(Svg& svg, const MapPanel& panel, const PlotArea& area) const {
    struct Run {
      std::size_t begin = 0, length = 0, row = 0;
    };
    std::map<std::uint32_t, Run> longest;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t begin = 0, end = 0; begin < columns_; begin = end) {
        const std::uint32_t here = region(panel, begin, row);
        while (end < columns_ && region(panel, end, row) == here) ++end;
        Run& run = longest[here];
        // Of equals the one nearest to the middle.
        const auto off = [&](std::size_t at) {
          return at > rows_ / 2 ? at - rows_ / 2 : rows_ / 2 - at;
        };
        if (end - begin > run.length || (end - begin == run.length && off(row) < off(run.row))) {
          run = {begin, end - begin, row};
        }
      }
    }
    for (const auto& [number, run] : longest) {
      const double width =
          area.width() * static_cast<double>(run.length) / static_cast<double>(columns_);
      const std::string name = fitted(figure_.regions[number], width - 8, 12);
      if (name.size() < 4) continue;
      const double middle = static_cast<double>(run.begin) + static_cast<double>(run.length) / 2;
      svg.text({x(area, middle), y(area, static_cast<double>(run.row) + 0.5) + 4},
               name,
               {.size = 12, .anchor = "middle", .bold = true});
    }
  }

  void draw_axes(Svg& svg, const PlotArea& area) const {
    for (const std::size_t i : marked(columns_)) {
      const double at = x(area, static_cast<double>(i) + 0.5);
      svg.line({at, area.bottom}, {at, area.bottom + 4}, axis_style);
      svg.text({at, area.bottom + 17}, figure_.x_values[i], {.size = 11, .anchor = "middle"});
    }
    svg.text({area.middle().x, area.bottom + 34},
             figure_.x_label,
             {.size = 11, .anchor = "middle", .fill = muted_text});
    svg.rect(area.left, area.top, area.width(), area.height(), {.stroke = "#444444"});
    if (rows_ < 2) return;
    for (const std::size_t i : marked(rows_)) {
      const double at = y(area, static_cast<double>(i) + 0.5);
      svg.line({area.left - 4, at}, {area.left, at}, axis_style);
      svg.text({area.left - 7, at + 4}, figure_.y_values[i], {.size = 11, .anchor = "end"});
    }
    draw_y_label(svg, area, figure_.y_label);
  }

  const MapFigure& figure_;
  std::size_t columns_;
  std::size_t rows_;
  double left_;
  std::size_t per_row_ = 1;
  double panel_width_ = 0;
  double area_width_ = 0;
  double area_height_ = 0;
  FigureFrame frame_{};
};

}  // namespace

std::string map_figure_svg(const MapFigure& figure) {
  return MapChart{figure}.draw();
}

}  // namespace schedlab
