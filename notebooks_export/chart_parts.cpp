// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_parts.hpp"

#include "notebooks_export/palette.hpp"
#include "notebooks_export/row_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace schedlab {

namespace {

/// The seventh colour of a plot is black, which is the mark's: grey and yellow follow instead.
[[nodiscard]] std::string_view part_color(std::size_t index) {
  if (index < 6) return series_color(index);
  return index == 6 ? okabe_ito::grey : okabe_ito::yellow;
}

[[nodiscard]] double sum_of(const PartsRow& row) {
  return std::accumulate(row.parts.begin(), row.parts.end(), 0.0);
}

/// Positive parts to the right of 0, negative ones to the left, in their order.
void draw_parts(
    Svg& svg, const RowPanel& panel, std::size_t row, const Scale& x, const PartsFigure& figure) {
  const std::vector<double>& parts = figure.rows[row].parts;
  double negative = 0;
  double positive = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    double& edge = parts[i] < 0 ? negative : positive;
    const auto [from, to] = std::minmax({x.at(edge), x.at(edge + parts[i])});
    edge += parts[i];
    if (to - from < 0.05) continue;
    svg.begin_group("series", i);
    svg.begin_group(fmt::format(
        "{}, {}: {}", figure.rows[row].name, figure.part_names.at(i), readable(parts[i])));
    panel.draw_bar(svg, row, from, to, part_color(i));
    svg.end_group();
    svg.end_group();
  }
}

}  // namespace

std::string parts_figure_svg(const PartsFigure& figure) {
  FigureFrame frame{.title = figure.title, .subtitle = figure.subtitle};
  for (std::size_t i = 0; i < figure.part_names.size(); ++i) {
    frame.legend.add({figure.part_names[i], std::string{part_color(i)}, LegendMark::filled, i});
  }
  const std::span rows{figure.rows.data(), std::min(figure.rows.size(), figure.max_rows)};
  if (rows.size() < figure.rows.size()) {
    frame.subtitle += fmt::format("; the first {} of {}", rows.size(), figure.rows.size());
  }
  const auto note_of = [&figure](const PartsRow& row) {
    return figure.signed_sums ? fmt::format("{:+.1f}", sum_of(row)) : readable(sum_of(row));
  };
  RowTexts texts;
  Range values;
  values.add(0);
  for (const PartsRow& row : rows) {
    texts.add(row.name, note_of(row));
    double negative = 0;
    double positive = 0;
    for (const double part : row.parts) (part < 0 ? negative : positive) += part;
    values.add(negative);
    values.add(positive);
  }
  const RowPanel panel{{0, frame.top()}, frame.width, texts, rows.size()};
  const Scale x{values, false, panel.area().left, panel.area().right};
  Svg svg = frame.begin(panel.area().bottom + x_axis_height);
  panel.draw_axis(svg, x, figure.x_label);
  panel.draw_upright(svg, x.at(0), axis_style);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    panel.draw_texts(svg, i, rows[i].name, note_of(rows[i]), {});
    draw_parts(svg, panel, i, x, figure);
    const double sum = x.at(sum_of(rows[i]));
    panel.draw_bar(svg, i, sum - 1.2, sum + 1.2, "#000000");
  }
  return std::move(svg).finish();
}

}  // namespace schedlab
