// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/text_buffer.hpp"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace schedlab {

/// Pixels from the left and from above, as all sizes here.
struct Point {
  double x = 0;
  double y = 0;
};

struct TextStyle {
  double size = 12;
  std::string_view anchor = "start";  ///< start, middle or end
  std::string_view fill = "#222222";
  bool bold = false;
  bool upright = false;  ///< turned by 90 degrees, to be read from below
};

struct RectStyle {
  std::string_view fill = "none";
  std::string_view stroke = {};  ///< empty: none
  double stroke_width = 1;
  double opacity = 1;
};

struct LineStyle {
  std::string_view stroke = "#222222";
  double width = 1;
  double opacity = 1;
  std::string_view dash = {};  ///< as stroke-dasharray; empty: solid
};

/// The outline of shapes, as in the attribute d of a path.
class SvgPath {
 public:
  /// One command with its numbers: ('M', {x, y}), ('h', {width}), ('z', {}).
  SvgPath& add(char command, std::initializer_list<double> numbers);
  [[nodiscard]] bool empty() const { return data_.size() == 0; }
  [[nodiscard]] std::string_view data() const { return data_.text(); }

 private:
  TextBuffer data_;
};

/// What stands for the rest of a text that is cut off.
inline constexpr std::string_view ellipsis = "\xE2\x80\xA6";

/// Builds one SVG picture. It stands alone: no scripts, no references, no ids, so that any number
/// of pictures can be put into one HTML page. All text is escaped. Coordinates have two decimals.
class Svg {
 public:
  /// `title` is what screen readers and browser tabs show.
  Svg(double width, double height, std::string_view title);

  /// What is drawn until end_group() belongs together: to the series of
  /// a chart or its legend (`data-series="2"`, for scripts), or under a tooltip.
  void begin_group(std::string_view data_name, std::size_t number);
  void begin_group(std::string_view tooltip);
  void end_group() { out_ << "</g>\n"; }

  /// Shows `tooltip`, if there is one, under the mouse pointer.
  void rect(double x,
            double y,
            double width,
            double height,
            const RectStyle& style,
            std::string_view tooltip = {});
  void line(Point from, Point to, const LineStyle& style);
  void polyline(std::span<const Point> points, const LineStyle& style);
  void polygon(std::span<const Point> points, std::string_view fill, double opacity = 1);
  void circle(Point center, double radius, std::string_view fill);
  void filled_path(const SvgPath& path, std::string_view fill, double opacity = 1);
  void stroked_path(const SvgPath& path, const LineStyle& style);
  void text(Point at, std::string_view text, const TextStyle& style = {});
  /// A line with a head at `to`.
  void arrow(Point from, Point to, const LineStyle& style);

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  /// The picture is complete; the builder is used up.
  [[nodiscard]] std::string finish() &&;

 private:
  void attribute(std::string_view name, double value);
  void attribute(std::string_view name, std::string_view value);
  void fill_style(std::string_view fill, double opacity);
  void line_style(const LineStyle& style);
  void points_of(std::span<const Point> points);

  TextBuffer out_;
};

/// About how wide DejaVu Sans sets this text, in the units of `size`. Never much too small, so that
/// labels stay inside what they label.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

/// `text` if it fits into `width`, else its beginning with an ellipsis; empty if not even that
/// fits.
[[nodiscard]] std::string fitted(std::string_view text, double width, double size);

}  // namespace schedlab
