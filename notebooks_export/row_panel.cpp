// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/row_panel.hpp"

#include <algorithm>

namespace schedlab {

namespace {

constexpr double row_step = 22;
constexpr double bar_height = 15;
constexpr double row_text_size = 11;

}  // namespace

void RowTexts::add(std::string_view name, std::string_view note, bool bold) {
  names = std::max(names, text_width(name, row_text_size, bold));
  notes = std::max(notes, text_width(note, row_text_size, bold));
}

RowPanel::RowPanel(Point corner, double width, const RowTexts& texts, std::size_t rows)
    : names_(std::min(texts.names, 0.4 * width)) {
  area_ = {.left = corner.x + figure_margin + names_ + 10,
           .top = corner.y,
           .right = corner.x + width - figure_margin - texts.notes - 10,
           .bottom = corner.y + height(rows) - x_axis_height};
}

double RowPanel::height(std::size_t rows) {
  return row_step * static_cast<double>(rows) + 6 + x_axis_height;
}

double RowPanel::middle(std::size_t row) const {
  return area_.top + 3 + row_step * (static_cast<double>(row) + 0.5);
}

void RowPanel::draw_axis(Svg& svg, const Scale& x, std::string_view label) const {
  draw_x_axis(svg, area_, x, x.ticks(static_cast<int>(area_.width() / 60)), label);
}

void RowPanel::draw_upright(Svg& svg, double x, const LineStyle& style) const {
  svg.line({x, area_.top}, {x, area_.bottom}, style);
}

void RowPanel::draw_texts(Svg& svg,
                          std::size_t row,
                          std::string_view name,
                          std::string_view note,
                          const TextStyle& style) const {
  const double y = middle(row) + 4;
  svg.text({area_.left - 10, y},
           fitted(name, names_, row_text_size),
           {.size = row_text_size, .anchor = "end", .bold = style.bold});
  TextStyle note_style = style;
  note_style.size = row_text_size;
  svg.text({area_.right + 10, y}, note, note_style);
}

void RowPanel::draw_bar(
    Svg& svg, std::size_t row, double from, double to, std::string_view color) const {
  svg.rect(from, middle(row) - bar_height / 2, to - from, bar_height, {.fill = color});
}

}  // namespace schedlab
