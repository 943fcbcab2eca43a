// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_spans.hpp"

#include "notebooks_export/marker.hpp"
#include "notebooks_export/row_panel.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

namespace {

constexpr double logarithmic_from = 8;  // times the lowest value

void draw_span(Svg& svg, const SpanRow& row, const Scale& x, const PlotArea& area, double y) {
  if (row.target_low || row.target_high) {
    const double from = row.target_low ? x.at(*row.target_low) : area.left;
    const double to = row.target_high ? x.at(*row.target_high) : area.right;
    svg.rect(from, y - 8, std::max(to - from, 1.0), 16, {.fill = "#999999", .opacity = 0.22});
  }
  svg.line({x.at(row.low), y}, {x.at(row.high), y}, {.stroke = row.color, .width = 1.4});
  svg.line({x.at(row.lower_quartile), y},
           {x.at(row.upper_quartile), y},
           {.stroke = row.color, .width = 7, .opacity = 0.55});
  draw_marker(svg, {x.at(row.median), y}, {}, row.color, 4.2);
  if (row.target) draw_marker(svg, {x.at(*row.target), y}, {MarkerShape::diamond}, "#000000", 4.4);
}

}  // namespace

std::string span_figure_svg(const SpanFigure& figure) {
  const FigureFrame frame{.title = figure.title, .subtitle = figure.subtitle};
  RowTexts texts;
  Range values;
  if (figure.reference > 0) values.add(figure.reference);
  for (const SpanRow& row : figure.rows) {
    texts.add(row.name, row.note);
    values.add(row.low);
    values.add(row.high);
    for (const auto& value : {row.target, row.target_low, row.target_high}) {
      if (value) values.add(*value);
    }
  }
  const RowPanel panel{{0, frame.top()}, frame.width, texts, figure.rows.size()};
  const PlotArea& area = panel.area();
  const Scale x{values, values.spans(logarithmic_from), area.left, area.right};
  Svg svg = frame.begin(area.bottom + x_axis_height);
  panel.draw_axis(svg, x, figure.x_label);
  if (figure.reference > 0) panel.draw_upright(svg, x.at(figure.reference), reference_style);
  for (std::size_t i = 0; i < figure.rows.size(); ++i) {
    const SpanRow& row = figure.rows[i];
    panel.draw_texts(svg, i, row.name, row.note, {.fill = row.color});
    svg.begin_group(fmt::format("{}: median {}, quartiles {} and {}, from {} to {}",
                                row.name,
                                readable(row.median),
                                readable(row.lower_quartile),
                                readable(row.upper_quartile),
                                readable(row.low),
                                readable(row.high)));
    draw_span(svg, row, x, area, panel.middle(i));
    svg.end_group();
  }
  return std::move(svg).finish();
}

}  // namespace schedlab
