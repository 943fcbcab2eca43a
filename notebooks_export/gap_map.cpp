// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/gap_map.hpp"

#include "notebooks_export/chart_heat.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t max_gap_panels = 24;

/// Different values of each axis of the cases.
std::vector<std::set<Cell>> axis_values(const SweepView& view) {
  std::vector<std::set<Cell>> values(view.case_axes().size());
  for (const SweepCase& one : view.cases()) {
    for (std::size_t axis = 0; axis < values.size(); ++axis) values[axis].insert(one.values[axis]);
  }
  return values;
}

/// Where a case stands on all axes but that of the columns.
std::string panel_of(const SweepView& view,
                     const std::vector<std::set<Cell>>& values,
                     const SweepCase& one,
                     std::size_t columns) {
  std::vector<std::string> places;
  for (std::size_t axis = 0; axis < values.size(); ++axis) {
    if (axis == columns || values[axis].size() < 2) continue;
    places.push_back(view.place(axis, one.values[axis]));
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

}  // namespace

std::optional<SweepPlot> gap_map(const SweepView& view) {
  const auto values = axis_values(view);
  const auto most = std::ranges::max_element(
      values, {}, [](const std::set<Cell>& of_axis) { return of_axis.size(); });
  if (most == values.end() || most->size() < 2) return std::nullopt;
  const auto x = static_cast<std::size_t>(most - values.begin());
  HeatFigure figure{.title = "Makespan over the certified bound of each case",
                    .subtitle = "1: proven optimal; each policy by its shortest run",
                    .x_label = view.name(view.case_axes()[x]),
                    .y_label = "policy",
                    .value_label = "makespan / bound",
                    .x_values = {},
                    .y_values = {view.policies().rbegin(), view.policies().rend()},
                    .panels = {}};
  for (const Cell& value : *most) figure.x_values.push_back(cell_text(value));
  const std::size_t policies = view.policies().size();
  bool bounded = false;
  for (const SweepCase& one : view.cases()) {
    const std::string title = panel_of(view, values, one, x);
    auto panel = std::ranges::find(figure.panels, title, &HeatPanel::title);
    if (panel == figure.panels.end()) {
      HeatPanel empty{.title = title, .cells = {}};
      empty.cells.assign(policies, std::vector<std::optional<double>>(most->size()));
      panel = figure.panels.insert(panel, std::move(empty));
    }
    const auto column =
        static_cast<std::size_t>(std::distance(most->begin(), most->find(one.values[x])));
    for (std::size_t policy = 0; policy < policies; ++policy) {
      const SweepRun* run = SweepView::shortest(one, policy);
      if (run == nullptr) continue;
      const auto gap = view.number(run->row, "case_gap");
      panel->cells[policies - 1 - policy][column] = gap;
      bounded = bounded || gap.has_value();
    }
  }
  if (!bounded) return std::nullopt;
  if (figure.panels.size() > max_gap_panels) {
    figure.subtitle +=
        fmt::format("; the first {} of {} panels", max_gap_panels, figure.panels.size());
    figure.panels.resize(max_gap_panels);
  }
  return SweepPlot{"gap_by_case", figure.title, heat_figure_svg(figure)};
}

}  // namespace schedlab
