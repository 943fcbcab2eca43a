// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/marker.hpp"

#include "notebooks_export/palette.hpp"

#include <array>
#include <vector>

namespace schedlab {

namespace {

constexpr std::array<std::string_view, 4> dashes{"", "7 3", "2 2.5", "10 3 2 3"};
constexpr std::array<MarkerShape, 6> shapes{MarkerShape::circle,
                                            MarkerShape::square,
                                            MarkerShape::triangle,
                                            MarkerShape::diamond,
                                            MarkerShape::triangle_down,
                                            MarkerShape::cross};

/// Corners around (0, 0) for a radius of 1, sized so that all shapes look about as large.
[[nodiscard]] std::vector<Point> corners_of(MarkerShape shape) {
  switch (shape) {
    case MarkerShape::square:
      return {{-0.92, -0.92}, {0.92, -0.92}, {0.92, 0.92}, {-0.92, 0.92}};
    case MarkerShape::triangle:
      return {{0, -1.25}, {1.15, 0.8}, {-1.15, 0.8}};
    case MarkerShape::diamond:
      return {{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}};
    case MarkerShape::triangle_down:
      return {{0, 1.25}, {1.15, -0.8}, {-1.15, -0.8}};
    case MarkerShape::cross:
      return {{0, -0.5},
              {0.7, -1.2},
              {1.2, -0.7},
              {0.5, 0},
              {1.2, 0.7},
              {0.7, 1.2},
              {0, 0.5},
              {-0.7, 1.2},
              {-1.2, 0.7},
              {-0.5, 0},
              {-1.2, -0.7},
              {-0.7, -1.2}};
    case MarkerShape::circle:
      break;
  }
  return {};
}

void fill_shape(Svg& svg, Point center, MarkerShape shape, std::string_view color, double radius) {
  if (shape == MarkerShape::circle) {
    svg.circle(center, radius, color);
    return;
  }
  std::vector<Point> corners = corners_of(shape);
  for (Point& corner : corners) {
    corner = {center.x + radius * corner.x, center.y + radius * corner.y};
  }
  svg.polygon(corners, color);
}

}  // namespace

SeriesStyle series_style(std::size_t index) {
  const std::size_t round = index / shapes.size();
  const MarkerShape shape = shapes[index % shapes.size()];
  // Filled and hollow markers take turns; the second round of shapes has them the other way.
  const bool hollow = (index + round) % 2 == 1 && shape != MarkerShape::cross;
  return {.color = series_color(index),
          .dash = dashes[index % dashes.size()],
          .marker = {.shape = shape, .hollow = hollow}};
}

void draw_marker(Svg& svg, Point center, Marker marker, std::string_view color, double radius) {
  fill_shape(svg, center, marker.shape, color, radius);
  if (marker.hollow) fill_shape(svg, center, marker.shape, "#ffffff", 0.55 * radius);
}

}  // namespace schedlab
