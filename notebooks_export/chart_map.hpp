// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/svg.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// One map: which region each place of a grid belongs to.
struct MapPanel {
  std::string title;
  std::vector<std::uint32_t> regions;  ///< row by row from below, columns from the left
  std::vector<Point> measured;         ///< column and row of the places that were run
};

/// Maps of regions over one or two axes side by side, in one set of colours.
struct MapFigure {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> x_values;
  std::vector<std::string> y_values;  ///< from below; a single one: no axis is drawn
  std::vector<std::string> regions;   ///< names, by number
  std::vector<MapPanel> panels;
};

/// Regions in pale colours with their names, the borders between them, and a dot at every place
/// that was run. No panels give a picture that says so.
[[nodiscard]] std::string map_figure_svg(const MapFigure& figure);

}  // namespace schedlab
