// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/svg.hpp"

#include <array>
#include <cmath>

namespace schedlab {

namespace {

// Verdana is DejaVu's model and nearly as wide, for machines without DejaVu.
constexpr std::string_view font_family = "DejaVu Sans, Verdana, Arial, sans-serif";

/// Width of a character in DejaVu Sans, in ems: from its metrics, in classes.
[[nodiscard]] double character_width(char c) {
  constexpr std::string_view narrow = "ijlI.,:;'|!()[] ftr-";
  constexpr std::string_view wide = "mwMW@%";
  if (narrow.find(c) != std::string_view::npos) return 0.40;
  if (wide.find(c) != std::string_view::npos) return 0.98;
  if (c >= 'A' && c <= 'Z') return 0.72;
  if (c == '_') return 0.50;
  return 0.64;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title) {
  out_ << R"(<svg xmlns="http://www.w3.org/2000/svg")";
  attribute("width", width);
  attribute("height", height);
  out_ << " viewBox=\"0 0 ";
  out_.rounded(width, 2) << ' ';
  out_.rounded(height, 2) << "\" font-family=\"" << font_family << "\">\n<title>";
  out_.xml(title) << "</title>\n";
  rect(0, 0, width, height, {.fill = "#ffffff"});
}

void Svg::attribute(std::string_view name, double value) {
  out_ << ' ' << name << "=\"";
  out_.rounded(value, 2) << '"';
}

void Svg::attribute(std::string_view name, std::string_view value) {
  out_ << ' ' << name << "=\"";
  out_.xml(value) << '"';
}

void Svg::fill_style(std::string_view fill, double opacity) {
  attribute("fill", fill);
  if (opacity != 1) attribute("opacity", opacity);
}

void Svg::begin_group(std::string_view data_name, std::size_t number) {
  out_ << "<g data-" << data_name << "=\"" << number << "\">\n";
}

void Svg::begin_group(std::string_view tooltip) {
  out_ << "<g><title>";
  out_.xml(tooltip) << "</title>\n";
}

void Svg::rect(double x,
               double y,
               double width,
               double height,
               const RectStyle& style,
               std::string_view tooltip) {
  out_ << "<rect";
  attribute("x", x);
  attribute("y", y);
  attribute("width", width);
  attribute("height", height);
  fill_style(style.fill, style.opacity);
  if (!style.stroke.empty()) {
    attribute("stroke", style.stroke);
    if (style.stroke_width != 1) attribute("stroke-width", style.stroke_width);
  }
  if (tooltip.empty()) {
    out_ << "/>\n";
    return;
  }
  out_ << "><title>";
  out_.xml(tooltip) << "</title></rect>\n";
}

void Svg::line_style(const LineStyle& style) {
  attribute("stroke", style.stroke);
  if (style.width != 1) attribute("stroke-width", style.width);
  if (style.opacity != 1) attribute("opacity", style.opacity);
  if (!style.dash.empty()) attribute("stroke-dasharray", style.dash);
}

void Svg::line(Point from, Point to, const LineStyle& style) {
  out_ << "<line";
  attribute("x1", from.x);
  attribute("y1", from.y);
  attribute("x2", to.x);
  attribute("y2", to.y);
  line_style(style);
  out_ << "/>\n";
}

void Svg::points_of(std::span<const Point> points) {
  out_ << " points=\"";
  for (const Point point : points) {
    out_.rounded(point.x, 2) << ',';
    out_.rounded(point.y, 2) << ' ';
  }
  out_ << '"';
}

void Svg::polyline(std::span<const Point> points, const LineStyle& style) {
  out_ << "<polyline fill=\"none\" stroke-linejoin=\"round\"";
  points_of(points);
  line_style(style);
  out_ << "/>\n";
}

void Svg::polygon(std::span<const Point> points, std::string_view fill, double opacity) {
  out_ << "<polygon";
  points_of(points);
  fill_style(fill, opacity);
  out_ << "/>\n";
}

void Svg::circle(Point center, double radius, std::string_view fill) {
  out_ << "<circle";
  attribute("cx", center.x);
  attribute("cy", center.y);
  attribute("r", radius);
  attribute("fill", fill);
  out_ << "/>\n";
}

void Svg::filled_path(const SvgPath& path, std::string_view fill, double opacity) {
  out_ << "<path";
  fill_style(fill, opacity);
  out_ << " d=\"" << path.data() << "\"/>\n";
}

void Svg::stroked_path(const SvgPath& path, const LineStyle& style) {
  out_ << "<path fill=\"none\"";
  line_style(style);
  out_ << " d=\"" << path.data() << "\"/>\n";
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  out_ << "<text";
  attribute("x", at.x);
  attribute("y", at.y);
  attribute("font-size", style.size);
  attribute("fill", style.fill);
  if (style.anchor != "start") attribute("text-anchor", style.anchor);
  if (style.bold) attribute("font-weight", "bold");
  if (style.upright) {
    out_ << " transform=\"rotate(-90 ";
    out_.rounded(at.x, 2) << ' ';
    out_.rounded(at.y, 2) << ")\"";
  }
  out_ << '>';
  out_.xml(text) << "</text>\n";
}

void Svg::arrow(Point from, Point to, const LineStyle& style) {
  line(from, to, style);
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < 1) return;
  const double dx = (to.x - from.x) / length;
  const double dy = (to.y - from.y) / length;
  const double head = 3.5 + style.width;
  const std::array<Point, 3> points{
      {to,
       {to.x - head * dx - 0.45 * head * dy, to.y - head * dy + 0.45 * head * dx},
       {to.x - head * dx + 0.45 * head * dy, to.y - head * dy - 0.45 * head * dx}}};
  polygon(points, style.stroke, style.opacity);
}

std::string Svg::finish() && {
  out_ << "</svg>\n";
  return std::move(out_).take();
}

SvgPath& SvgPath::add(char command, std::initializer_list<double> numbers) {
  data_ << command;
  for (const double* number = numbers.begin(); number != numbers.end(); ++number) {
    if (number != numbers.begin()) data_ << ' ';
    data_.rounded(*number, 2);
  }
  return *this;
}

double text_width(std::string_view text, double size, bool bold) {
  double ems = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    ems += length == 1 ? character_width(text.front()) : 1.0;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return ems * size * (bold ? 1.12 : 1.0);
}

std::string fitted(std::string_view text, double width, double size) {
  if (text_width(text, size) <= width) return std::string{text};
  double left = width - size;  // without the ellipsis
  std::string result;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    left -= text_width(text.substr(0, length), size);
    if (left < 0) break;
    result.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  return result.empty() ? result : result.append(ellipsis);
}

}  // namespace schedlab
