// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/reproduction_pictures.hpp"

#include "notebooks_export/chart_heat.hpp"
#include "notebooks_export/chart_spans.hpp"
#include "notebooks_export/sweep_view.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

std::string_view color_of(ClaimStatus status) {
  switch (status) {
    case ClaimStatus::within:
      return "#009E73";
    case ClaimStatus::in_part:
      return "#0072B2";
    case ClaimStatus::missed:
      return "#D55E00";
    case ClaimStatus::not_run:
    case ClaimStatus::not_covered:
      break;
  }
  return "#999999";
}

SpanRow row_of(const Outcome& outcome, double unit) {
  const Spread& spread = outcome.simulated;
  return {.name = row_name(outcome),
          .note = fmt::format("{}, {:.0f} %", to_string(outcome.status), 100 * outcome.share_met),
          .color = std::string{color_of(outcome.status)},
          .low = spread.min / unit,
          .lower_quartile = spread.lower_quartile / unit,
          .median = spread.median / unit,
          .upper_quartile = spread.upper_quartile / unit,
          .high = spread.max / unit,
          .target = {},
          .target_low = {},
          .target_high = {}};
}

/// Axes of the samples that are numeric and have more than one value, by falling effect.
std::vector<std::size_t> numeric_axes(const Outcome& outcome,
                                      const ClaimSamples& found,
                                      const Table& table) {
  std::vector<std::size_t> axes;
  for (const AxisEffect& effect : outcome.effects) {
    const bool numeric =
        std::all_of(effect.values.begin(), effect.values.end(), [](const AxisEffect::At& at) {
          return cell_number(at.value).has_value();
        });
    if (!numeric) continue;
    for (std::size_t i = 0; i < found.axes.size(); ++i) {
      if (table.columns[found.axes[i]].name == effect.axis) axes.push_back(i);
    }
  }
  return axes;
}

std::vector<std::string> words_of(const std::set<Cell>& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const Cell& value : values) words.push_back(to_string(value));
  return words;
}

}  // namespace

std::string numbers_picture(const Reproduction& reproduction) {
  SpanFigure figure;
  figure.title = fmt::format("{}: simulated over published", reproduction.system->title);
  figure.subtitle =
      "thin: all values of what the publication leaves open; thick: middle half; dot: median; at "
      "right: share that meets the number";
  figure.x_label = "simulated / published";
  figure.reference = 1;
  for (const Outcome& outcome : reproduction.outcomes) {
    const auto& value = outcome.point->value;
    if (outcome.simulated.count == 0 || !value || *value == 0) continue;
    figure.rows.push_back(row_of(outcome, *value));
    figure.rows.back().target = 1;
  }
  return span_figure_svg(figure);
}

std::string ranges_picture(const Reproduction& reproduction) {
  SpanFigure figure;
  figure.title = fmt::format("{}: ranges and tendencies", reproduction.system->title);
  figure.subtitle = "grey: what the publication says; the rest as above";
  figure.x_label = "simulated";
  for (const Outcome& outcome : reproduction.outcomes) {
    const PublishedPoint& point = *outcome.point;
    if (outcome.simulated.count == 0 || point.value) continue;
    SpanRow row = row_of(outcome, 1);
    row.target_low = point.low ? point.low : point.above;
    row.target_high = point.high ? point.high : point.below;
    figure.rows.push_back(std::move(row));
  }
  return span_figure_svg(figure);
}

std::optional<std::string> sample_map(const Outcome& outcome, const Table& table) {
  if (outcome.simulated.count == 0) return std::nullopt;
  const ClaimSamples found =
      collect_samples(table, measure_at(*outcome.claim, *outcome.point), outcome.point->at);
  const std::vector<std::size_t> axes = numeric_axes(outcome, found, table);
  if (axes.size() < 2) return std::nullopt;
  const std::size_t x = axes[0];
  const std::size_t y = axes[1];
  std::set<Cell> columns;
  std::set<Cell> rows;
  std::map<std::pair<Cell, Cell>, std::vector<double>> cells;
  for (const ClaimSample& sample : found.samples) {
    columns.insert(sample.axes[x]);
    rows.insert(sample.axes[y]);
    cells[{sample.axes[y], sample.axes[x]}].push_back(sample.value);
  }
  HeatFigure figure;
  figure.title = fmt::format("{}: {}", outcome.claim->id, outcome.claim->text);
  figure.subtitle = "median over everything else that is open";
  figure.x_label = table.columns[found.axes[x]].name;
  figure.y_label = table.columns[found.axes[y]].name;
  figure.x_values = words_of(columns);
  figure.y_values = words_of(rows);
  figure.neutral = outcome.point->value.value_or(1);
  if (figure.neutral <= 0) figure.neutral = 1;
  figure.value_label = outcome.point->value
                           ? fmt::format("white: as published, {:.3g}", figure.neutral)
                           : "white: 1";
  HeatPanel panel;
  for (const Cell& row : rows) {
    auto& line = panel.cells.emplace_back();
    for (const Cell& column : columns) {
      const auto at = cells.find({row, column});
      line.push_back(at == cells.end() ? std::nullopt
                                       : std::optional{spread_of(at->second).median});
    }
  }
  figure.panels.push_back(std::move(panel));
  return heat_figure_svg(figure);
}

const Table* grid_table(const Reproduction& reproduction, const std::string& name) {
  for (const GridResult& grid : reproduction.grids) {
    if (grid.name == name) return &grid.table;
  }
  return nullptr;
}

}  // namespace schedlab
