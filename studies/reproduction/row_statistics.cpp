// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/row_statistics.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/sweep_view.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace schedlab {
namespace {

/// Effects below this are not worth a sentence.
constexpr double visible_effect = 1.03;
constexpr std::size_t max_axes = 3;

std::optional<std::size_t> column_of(const Table& table, std::string_view name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return i;
  }
  return std::nullopt;
}

std::string rounded(double value) {
  return fmt::format("{:.3g}", value);
}

/// "hidden (median 1.21 at 256, 0.83 at 2048)".
std::string axis_words(const AxisEffect& effect) {
  const auto less = [](const AxisEffect::At& a, const AxisEffect::At& b) {
    return a.median < b.median;
  };
  const auto low = std::min_element(effect.values.begin(), effect.values.end(), less);
  const auto high = std::max_element(effect.values.begin(), effect.values.end(), less);
  return fmt::format("{} (median {} at {}, {} at {})",
                     effect.axis,
                     rounded(low->median),
                     to_string(low->value),
                     rounded(high->median),
                     to_string(high->value));
}

std::optional<double> median_of(const Table& table,
                                const std::set<std::size_t>& rows,
                                std::string_view name) {
  const auto column = column_of(table, name);
  std::vector<double> values;
  for (const std::size_t row : rows) {
    const auto value = column ? cell_number(table.rows[row][*column]) : std::nullopt;
    if (value) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return spread_of(std::move(values)).median;
}

/// What the largest lower bound of most runs is, and how far above it they end.
std::string limit_words(const Table& table, const std::set<std::size_t>& rows) {
  const auto bound = column_of(table, "bound");
  std::map<std::string, std::size_t> uses;
  for (const std::size_t row : rows) {
    if (bound) ++uses[cell_text(table.rows[row][*bound])];
  }
  std::string words;
  const auto most = std::max_element(
      uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto gap = median_of(table, rows, "gap");
  if (most != uses.end() && gap) {
    words = fmt::format("{} times its bound, which is {} in {} of {}",
                        rounded(*gap),
                        most->first,
                        most->second,
                        rows.size());
  }
  const auto waits = median_of(table, rows, "host_bound_share");
  const auto in_use = median_of(table, rows, "utilization");
  if (waits && in_use) {
    words += fmt::format("{}device idle for the host {}, units in use {}",
                         words.empty() ? "" : "; ",
                         readable_share(*waits),
                         readable_share(*in_use));
  }
  return words;
}

std::string side_name(const Table& table, const RunSelector& selector, std::size_t row) {
  std::vector<std::string> words;
  for (const auto& [axis, values] : selector.axes) {
    const auto column = column_of(table, axis);
    if (column) words.push_back(cell_text(table.rows[row][*column]));
  }
  return words.empty() ? "the runs" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string statistics_of(const Table& table,
                          const Measure& measure,
                          const PublishedPoint& point,
                          const ClaimSamples& found,
                          const std::vector<AxisEffect>& effects) {
  std::vector<std::string> sentences;
  std::vector<std::string> axes;
  for (const AxisEffect& effect : effects) {
    if (effect.effect < visible_effect || axes.size() == max_axes) break;
    axes.push_back(axis_words(effect));
  }
  if (!axes.empty()) sentences.push_back(fmt::format("Moved most by {}.", fmt::join(axes, ", ")));

  std::map<std::string, std::set<std::size_t>> sides;
  for (const ClaimSample& sample : found.samples) {
    if (is_met(point, sample.value)) continue;
    for (const std::size_t row : sample.rows) {
      const auto side =
          std::find_if(measure.runs.begin(), measure.runs.end(), [&](const auto& run) {
            return std::all_of(run.axes.begin(), run.axes.end(), [&](const auto& item) {
              const auto column = column_of(table, item.first);
              return column &&
                     std::any_of(item.second.begin(), item.second.end(), [&](const Cell& wanted) {
                       return same_value(table.rows[row][*column], wanted);
                     });
            });
          });
      if (side != measure.runs.end()) sides[side_name(table, *side, row)].insert(row);
    }
  }
  for (const auto& [name, rows] : sides) {
    const std::string words = limit_words(table, rows);
    if (!words.empty()) sentences.push_back(fmt::format("{}: {}.", name, words));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace schedlab
