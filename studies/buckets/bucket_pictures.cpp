// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart.hpp"
#include "studies/buckets/bucket_files.hpp"
#include "studies/buckets/bucket_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace schedlab {
namespace {

/// The largest value of all rows; 0 without rows.
template <class Value>
double largest_of(const BucketStudy& study, const Value& value) {
  double most = 0;
  for (const BucketRow& row : study.rows) most = std::max(most, static_cast<double>(value(row)));
  return most;
}

/// Values of rows over their number of buckets: a panel per data set and setup, a line per rule.
std::vector<LinePanel> panels_over_counts(const BucketStudy& study,
                                          const std::vector<BoundaryRule>& rules,
                                          const std::function<double(const BucketRow&)>& value) {
  std::vector<LinePanel> panels;
  const auto named = [](auto& list, const std::string& name, auto member) -> auto& {
    const auto found = std::find_if(
        list.begin(), list.end(), [&](const auto& each) { return each.*member == name; });
    if (found != list.end()) return *found;
    auto& fresh = list.emplace_back();
    fresh.*member = name;
    return fresh;
  };
  for (const BucketRow& row : study.rows) {
    const bool shown = std::any_of(
        rules.begin(), rules.end(), [&](BoundaryRule rule) { return row.rule == to_string(rule); });
    if (!shown) continue;
    LinePanel& panel = named(panels, setup_label(study, row), &LinePanel::title);
    Series& series = named(panel.series, row.rule, &Series::name);
    series.points.push_back({static_cast<double>(row.buckets), value(row)});
  }
  for (LinePanel& panel : panels) {
    for (Series& series : panel.series) {
      std::sort(series.points.begin(), series.points.end(), [](const Point& a, const Point& b) {
        return a.x < b.x;
      });
    }
  }
  return panels;
}

/// Share of sequences up to a length, at lengths in equal ratios.
Series share_of(const LengthDistribution& lengths) {
  constexpr int points = 40;
  Series series{.name = "lengths", .points = {}};
  for (int i = 0; i <= points; ++i) {
    const double length =
        std::round(std::pow(static_cast<double>(lengths.longest()), i / double{points}));
    if (!series.points.empty() && series.points.back().x >= length) continue;
    series.points.push_back({length, lengths.cumulative(static_cast<std::int64_t>(length))});
  }
  return series;
}

/// The same of padded lengths: a stair at every boundary.
Series stairs_of(const LengthDistribution& lengths, const BucketBoundaries& boundaries) {
  Series series{.name = "padded to their bucket", .points = {}};
  double below = 0;
  for (const std::int64_t end : boundaries) {
    series.points.push_back({static_cast<double>(end), below});
    below = lengths.cumulative(end);
    series.points.push_back({static_cast<double>(end), below});
  }
  return series;
}

}  // namespace

std::string boundaries_picture(const BucketStudy& study) {
  LineFigure figure;
  figure.title = fmt::format("{}: lengths and buckets", study.spec->name);
  figure.x_label = "length (steps)";
  figure.y_label = "share of sequences up to it";
  figure.shared_y = true;
  const auto& counts = study.spec->counts;
  // The fewest that show how rules differ; with more the stairs hide each other.
  const std::int64_t shown =
      *std::min_element(counts.begin(), counts.end(), [](std::int64_t a, std::int64_t b) {
        const auto distance = [](std::int64_t count) { return count < 8 ? 1000 - count : count; };
        return distance(a) < distance(b);
      });
  figure.subtitle = fmt::format("{} buckets asked for; between the lines is padding", shown);
  // Of one data set all rules, of several the last rule.
  const bool all_rules = study.spec->data.size() == 1;
  const std::string_view last_rule = to_string(study.spec->rules.back());
  for (const BucketRow& row : study.rows) {
    if (row.buckets != shown || row.setup != study.spec->training.front()) continue;
    if (!all_rules && row.rule != last_rule) continue;
    const SequenceData& data = study.spec->data[row.data];
    figure.panels.push_back(
        {fmt::format("{}, {}", data.label, row.rule),
         {share_of(data.distribution), stairs_of(data.distribution, row.boundaries)}});
  }
  return line_figure_svg(figure);
}

std::string epoch_time_picture(const BucketStudy& study) {
  LineFigure figure;
  figure.title = fmt::format("{}: time of one pass", study.spec->name);
  figure.x_label = "buckets";
  const auto seconds = [](const BucketRow& row) { return to_seconds(row.time.total); };
  const ShownUnit unit = time_unit(largest_of(study, seconds));
  figure.y_label = unit.name;
  figure.names = enum_names<BoundaryRule>();
  figure.panels = panels_over_counts(
      study, study.spec->rules, [&](const BucketRow& row) { return seconds(row) / unit.size; });
  return line_figure_svg(figure);
}

std::string bucket_memory_picture(const BucketStudy& study) {
  LineFigure figure;
  figure.title = fmt::format("{}: memory of one device", study.spec->name);
  figure.subtitle = "the network at its longest, and a stored model per bucket; dashed: capacity";
  figure.x_label = "buckets";
  const auto bytes = [](const BucketRow& row) { return static_cast<double>(row.memory.count()); };
  const ShownUnit unit = memory_unit(largest_of(study, bytes));
  figure.y_label = unit.name;
  figure.reference_y = static_cast<double>(study.capacity.count()) / unit.size;
  // The rule does not matter: the last bucket is the longest length.
  figure.panels = panels_over_counts(study, {study.spec->rules.front()}, [&](const BucketRow& row) {
    return bytes(row) / unit.size;
  });
  for (LinePanel& panel : figure.panels) {
    for (Series& series : panel.series) series.name = "network and models";
  }
  return line_figure_svg(figure);
}

}  // namespace schedlab
