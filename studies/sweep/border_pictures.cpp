// SPDX-License-Identifier: Apache-2.0
// What the maps of an adaptive sweep look like: tables, sentences and pictures.
#include "notebooks_export/chart_map.hpp"
#include "notebooks_export/sweep_plot.hpp"
#include "studies/sweep/adaptive_sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t max_maps_drawn = 12;
constexpr std::uint32_t slices_of_further_axes = 3;

/// Places along the axes that a picture has not.
std::vector<MapPlace> slices(const BorderMap& map, std::optional<std::uint32_t> y) {
  std::vector<MapPlace> places{{}};
  const auto& values = map.settings().values;
  for (std::uint32_t axis = 0; axis < values.size(); ++axis) {
    if (axis == 0 || axis == y) continue;
    std::vector<MapPlace> more;
    const std::uint32_t count = std::min(values[axis], slices_of_further_axes);
    for (const MapPlace& place : places) {
      for (std::uint32_t i = 0; i < count; ++i) {
        more.push_back(place);
        more.back()[axis] = (values[axis] - 1) * i / (count - 1);
      }
    }
    places = std::move(more);
  }
  return places;
}

MapPanel map_panel(const BorderMap& map, std::optional<std::uint32_t> y, const MapPlace& at) {
  MapPanel drawn;
  drawn.regions = map.slice(0, y, at);
  for (const auto& [place, outcome] : map.places()) {
    bool here = true;
    for (std::uint32_t i = 1; i < max_map_axes; ++i) here = here && (i == y || place[i] == at[i]);
    if (here) drawn.measured.push_back({1.0 * place[0], y ? 1.0 * place[*y] : 0.0});
  }
  return drawn;
}

std::vector<std::string> texts_of(const std::vector<Cell>& cells) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells) texts.push_back(cell_text(cell));
  return texts;
}

}  // namespace

Table AdaptiveSweep::borders() const {
  Table table;
  using enum ColumnRole;
  table.columns = {{"map", axis},
                   {"axis", axis},
                   {"below", metric},
                   {"above", metric},
                   {"region_below", axis},
                   {"region_above", axis}};
  for (const Axis& one : axes_) table.columns.push_back({one.name, axis});
  for (const Panel& panel : panels_) {
    for (const MapBorder& border : panel.map.borders()) {
      const Axis& crossed = axes_[border.axis];
      auto& row =
          table.rows.emplace_back(std::vector<Cell>{panel.title,
                                                    crossed.name,
                                                    crossed.values[border.below[border.axis]],
                                                    crossed.values[border.below[border.axis] + 1],
                                                    regions_[border.region_below],
                                                    regions_[border.region_above]});
      for (std::uint32_t i = 0; i < axes_.size(); ++i) {
        row.push_back(i == border.axis ? Cell{} : axes_[i].values[border.below[i]]);
      }
    }
  }
  return table;
}

std::string AdaptiveSweep::summary() const {
  std::uint64_t found = 0;
  std::uint64_t size = 0;
  for (const Panel& panel : panels_) {
    found += panel.map.places().size();
    size += panel.map.size();
  }
  return fmt::format(
      "Borders from {} of {} cases ({:.3g} %): cells of {} along each axis were halved where "
      "regions meet, down to {:g} % of an axis. A region smaller than such a coarse cell may be "
      "missed.",
      found,
      size,
      100.0 * static_cast<double>(found) / static_cast<double>(size),
      choice_.coarse_cells,
      100 * choice_.border_width);
}

std::vector<ReportFigure> AdaptiveSweep::pictures() const {
  MapFigure figure;
  const std::optional<std::uint32_t> y =
      axes_.size() > 1 ? std::optional<std::uint32_t>{1} : std::nullopt;
  figure.title = choice_.border == BorderOf::limit ? "What limits the fastest policy"
                 : choice_.border == BorderOf::probability
                     ? fmt::format("How surely {} is faster than {}", choice_.policy, choice_.over)
                     : "Who is the fastest";
  figure.subtitle = "lines: borders; dots: what was run; between them predicted";
  figure.x_label = axes_[0].name;
  figure.x_values = texts_of(axes_[0].values);
  figure.y_values = {{}};
  if (y) {
    figure.y_label = axes_[*y].name;
    figure.y_values = texts_of(axes_[*y].values);
  }
  figure.regions = regions_;
  for (const Panel& panel : panels_) {
    for (const MapPlace& at : slices(panel.map, y)) {
      if (figure.panels.size() == max_maps_drawn) break;
      MapPanel drawn = map_panel(panel.map, y, at);
      std::vector<std::string> words;
      if (!panel.title.empty()) words.push_back(panel.title);
      for (std::uint32_t i = 2; i < axes_.size(); ++i) {
        words.push_back(fmt::format("{}={}", axes_[i].name, cell_text(axes_[i].values[at[i]])));
      }
      drawn.title = fmt::format("{}", fmt::join(words, ", "));
      figure.panels.push_back(std::move(drawn));
    }
  }
  return {{figure.title, map_figure_svg(figure)}};
}

}  // namespace schedlab
