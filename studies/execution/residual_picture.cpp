// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/residual_picture.hpp"

#include "notebooks_export/chart_heat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The place of a name in a list to which it is added where it is new.
std::size_t place_of(const std::string& name, std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  const auto place = static_cast<std::size_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return place;
}

}  // namespace

std::string residual_picture_svg(const OperatorFit& fit, std::string_view machine) {
  HeatFigure figure{
      .title = fmt::format("{}: {} {}, held-out rows", machine, to_string(fit.type), fit.kind),
      .subtitle =
          "measured over predicted time by region of shapes; above 1: slower than predicted",
      .x_label = {},
      .y_label = {},
      .value_label = "measured / predicted",
      .x_values = {},
      .y_values = {},
      .panels = {}};
  for (const ErrorCell& cell : fit.cells) {
    place_of(cell.across, figure.x_values);
    place_of(cell.up, figure.y_values);
  }
  HeatPanel median{.title = "median", .cells = {}};
  median.cells.assign(figure.y_values.size(),
                      std::vector<std::optional<double>>(figure.x_values.size()));
  HeatPanel spread{.title = "nine of ten within this factor", .cells = median.cells};
  for (const ErrorCell& cell : fit.cells) {
    const std::size_t across = place_of(cell.across, figure.x_values);
    const std::size_t up = place_of(cell.up, figure.y_values);
    median.cells[up][across] = cell.median;
    spread.cells[up][across] = cell.spread;
  }
  figure.panels = {std::move(median), std::move(spread)};
  return heat_figure_svg(figure);
}

}  // namespace schedlab
