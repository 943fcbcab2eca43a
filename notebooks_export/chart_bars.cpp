// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart.hpp"
#include "notebooks_export/marker.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/row_panel.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace schedlab {

namespace {

/// The line over the range of a bar, with a stroke at both ends.
void draw_whisker(Svg& svg, double from, double to, double y) {
  constexpr LineStyle style{.stroke = "#222222", .width = 1.2};
  svg.line({from, y}, {to, y}, style);
  for (const double x : {from, to}) svg.line({x, y - 4}, {x, y + 4}, style);
}

[[nodiscard]] std::string note_of(const NamedBar& bar) {
  return readable(std::round(bar.value * 1000) / 1000);
}

[[nodiscard]] std::string tooltip_of(const NamedBar& bar) {
  std::string text = fmt::format("{}: {}", bar.name, readable(bar.value));
  if (bar.high > bar.low) {
    text += fmt::format(", from {} to {}", readable(bar.low), readable(bar.high));
  }
  if (bar.mark > 0) text += fmt::format("; diamond {}", readable(bar.mark));
  return text;
}

}  // namespace

std::string bar_figure_svg(const BarFigure& figure) {
  std::map<std::string, std::string_view> colors;
  RowTexts texts;
  Range values;
  values.add(0);
  values.add(figure.reference);
  std::vector<double> heights;
  for (const BarPanel& panel : figure.panels) {
    for (const NamedBar& bar : panel.bars) {
      colors.try_emplace(bar.name, series_color(colors.size()));
      texts.add(bar.name, note_of(bar), bar.emphasized);
      for (const double value : {bar.value, bar.high, bar.mark}) values.add(value);
    }
    heights.push_back(panel_title_height + RowPanel::height(panel.bars.size()));
  }
  const std::size_t columns = figure.panels.size() > 1 ? 2 : 1;
  const FigureFrame frame{.title = figure.title, .subtitle = figure.subtitle};
  const PanelGrid grid{
      {0, frame.top()}, columns, frame.width / static_cast<double>(columns), heights};
  Svg svg = frame.begin(grid.bottom());
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const BarPanel& panel = figure.panels[i];
    const Point corner = grid.corner(i);
    const RowPanel rows{
        {corner.x, corner.y + panel_title_height}, grid.panel_width(), texts, panel.bars.size()};
    const Scale x{values, false, rows.area().left, rows.area().right};
    draw_panel_title(
        svg, {corner.x + figure_margin, corner.y}, panel.title, grid.panel_width() - figure_margin);
    rows.draw_axis(svg, x, figure.x_label);
    rows.draw_upright(svg, x.at(0), axis_style);
    for (std::size_t row = 0; row < panel.bars.size(); ++row) {
      const NamedBar& bar = panel.bars[row];
      const double y = rows.middle(row);
      rows.draw_texts(svg, row, bar.name, note_of(bar), {.bold = bar.emphasized});
      svg.begin_group(tooltip_of(bar));
      rows.draw_bar(svg, row, x.at(0), x.at(bar.value), colors.at(bar.name));
      if (bar.high > bar.low) draw_whisker(svg, x.at(bar.low), x.at(bar.high), y);
      if (bar.mark > 0) {
        draw_marker(svg, {x.at(bar.mark), y}, {MarkerShape::diamond, true}, "#222222", 4.6);
      }
      svg.end_group();
    }
    if (figure.reference > 0) rows.draw_upright(svg, x.at(figure.reference), reference_style);
  }
  return std::move(svg).finish();
}

}  // namespace schedlab
