// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/legend.hpp"

#include "notebooks_export/marker.hpp"

namespace schedlab {

namespace {

constexpr double line_height = 20;
constexpr double text_size = 11;
constexpr double line_sample = 32;

[[nodiscard]] double text_left(const LegendEntry& entry) {
  return entry.mark == LegendMark::line ? line_sample + 6 : 18;
}

}  // namespace

std::vector<Legend::Place> Legend::places() const {
  std::vector<Place> places;
  Place next{left_, 0};
  for (const LegendEntry& entry : entries_) {
    const double width = text_left(entry) + text_width(entry.name, text_size) + 14;
    if (next.x + width > right_ && next.x > left_) next = {left_, next.line + 1};
    places.push_back(next);
    next.x += width;
  }
  return places;
}

double Legend::height() const {
  return entries_.empty() ? 0 : line_height * (places().back().line + 1);
}

void Legend::draw_mark(Svg& svg, const LegendEntry& entry, double x, double y) {
  const SeriesStyle series = series_style(entry.series);
  switch (entry.mark) {
    case LegendMark::arrow:
      svg.arrow({x, y + 6}, {x + 13, y + 6}, {.stroke = "#444444", .width = 0.8});
      break;
    case LegendMark::framed:
      svg.rect(x, y, 12, 12, {.fill = "#ffffff", .stroke = "#000000", .stroke_width = 1.5});
      break;
    case LegendMark::filled:
      svg.rect(x, y, 12, 12, {.fill = entry.color, .stroke = "#bbbbbb", .stroke_width = 0.5});
      break;
    case LegendMark::line:
      svg.line({x, y + 6},
               {x + line_sample, y + 6},
               {.stroke = series.color, .width = 2, .dash = series.dash});
      draw_marker(svg, {x + line_sample / 2, y + 6}, series.marker, series.color);
      break;
    case LegendMark::points:
      draw_marker(svg, {x + 6, y + 6}, {.shape = series.marker.shape}, series.color, 5);
      break;
  }
}

void Legend::draw(Svg& svg, double top) const {
  const std::vector<Place> where = places();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const LegendEntry& entry = entries_[i];
    const double x = where[i].x;
    const double y = top + line_height * where[i].line;
    const bool of_series = entry.mark != LegendMark::framed && entry.mark != LegendMark::arrow;
    if (of_series) svg.begin_group("legend", entry.series);
    draw_mark(svg, entry, x, y);
    svg.text({x + text_left(entry), y + 10}, entry.name, {.size = text_size});
    if (of_series) svg.end_group();
  }
}

}  // namespace schedlab
