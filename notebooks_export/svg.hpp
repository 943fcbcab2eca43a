// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/text_buffer.hpp"

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

/// Builds one SVG picture. It stands alone: no scripts, no references, no ids, so that any number
/// of pictures can be put into one HTML page. All text is escaped. Coordinates have two decimals.
class Svg {
 public:
  /// `title` is what screen readers and browser tabs show.
  Svg(double width, double height, std::string_view title);

  void rect(double x, double y, double width, double height, const RectStyle& style);
  /// A rectangle that shows `tooltip` under the mouse pointer.
  void rect(double x,
            double y,
            double width,
            double height,
            const RectStyle& style,
            std::string_view tooltip);
  void line(Point from, Point to, const LineStyle& style);
  void polyline(std::span<const Point> points, const LineStyle& style);
  void polygon(std::span<const Point> points, std::string_view fill, double opacity = 1);
  void circle(Point center, double radius, std::string_view fill);
  /// `data` as in the attribute d of a path; made of numbers and letters by the caller.
  void filled_path(std::string_view data, std::string_view fill, double opacity = 1);
  void stroked_path(std::string_view data, const LineStyle& style);
  void text(Point at, std::string_view text, const TextStyle& style = {});
  /// A line with a head at `to`.
  void arrow(Point from, Point to, const LineStyle& style);

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  /// The picture is complete; the builder is used up.
  [[nodiscard]] std::string finish() &&;

 private:
  void attribute(std::string_view name, double value);
  void attribute(std::string_view name, std::string_view value);
  void line_style(const LineStyle& style);
  void rect_attributes(double x, double y, double width, double height, const RectStyle& style);

  TextBuffer out_;
};

/// Appends a coordinate of a path.
void put_coordinate(TextBuffer& out, double value);

/// About how wide DejaVu Sans sets this text, in the units of `size`. Never much too small, so that
/// labels stay inside what they label.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

/// `text` if it fits into `width`, else its beginning with an ellipsis; empty if not even that
/// fits.
[[nodiscard]] std::string fitted(std::string_view text, double width, double size);

}  // namespace schedlab
