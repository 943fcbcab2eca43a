// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/svg.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace schedlab {

enum class MarkerShape : std::uint8_t { circle, square, triangle, diamond, triangle_down, cross };

struct Marker {
  MarkerShape shape = MarkerShape::circle;
  bool hollow = false;
};

/// What tells the series of a plot apart. Dashes and markers do it alone, for pictures that are
/// printed in grey; twelve series of neighbouring indices have twelve pairs of them.
struct SeriesStyle {
  std::string_view color;
  std::string_view dash;  ///< as LineStyle::dash
  Marker marker;
};
[[nodiscard]] SeriesStyle series_style(std::size_t index);

/// A marker about `2 * radius` wide around `center`; a hollow one is white inside.
void draw_marker(
    Svg& svg, Point center, Marker marker, std::string_view color, double radius = 3.8);

}  // namespace schedlab
