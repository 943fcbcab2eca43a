// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/sweep_heat.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace schedlab {

namespace {

constexpr std::size_t max_maps = 24;
constexpr std::size_t max_policies = 4;
constexpr std::size_t none = static_cast<std::size_t>(-1);

[[nodiscard]] std::string expect_one_of(const std::string& option,
                                        const std::string& word,
                                        const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return word;
  refuse_unknown(option, {}, fmt::format("\"{}\"", word), word, known);
}

class HeatMap {
 public:
  HeatMap(const SweepView& view, const HeatMapOptions& options) : view_(view), options_(options) {
    values_.resize(view.case_axes().size());
    for (const SweepCase& one : view.cases()) {
      for (std::size_t i = 0; i < one.values.size(); ++i) values_[i].insert(one.values[i]);
    }
    for (std::size_t i = 0; i < values_.size(); ++i) names_.push_back(axis_name(i));
    choose_policies();
    choose_places();
    choose_panels();
  }

  [[nodiscard]] HeatFigure draw() const {
    HeatFigure figure;
    figure.title = fmt::format("{}: {} over {}", metric_words(), policy_, over_);
    figure.subtitle = subtitle();
    figure.x_label = names_[x_];
    figure.y_label = names_[y_];
    figure.value_label = fmt::format("below 1: {} is smaller", policy_);
    const std::vector<Cell> columns(values_[x_].begin(), values_[x_].end());
    const std::vector<Cell> rows(values_[y_].begin(), values_[y_].end());
    for (const Cell& value : columns) figure.x_values.push_back(cell_text(value));
    for (const Cell& value : rows) figure.y_values.push_back(cell_text(value));

    std::map<std::vector<Cell>, std::vector<std::vector<std::vector<double>>>> samples;
    for (const SweepCase& one : view_.cases()) {
      const auto value = ratio(one);
      if (!value || !shown(one)) continue;
      std::vector<Cell> key;
      for (const std::size_t axis : panels_) key.push_back(one.values[axis]);
      auto& cells = samples[key];
      cells.resize(rows.size(), std::vector<std::vector<double>>(columns.size()));
      const auto row = std::find(rows.begin(), rows.end(), one.values[y_]) - rows.begin();
      const auto column =
          std::find(columns.begin(), columns.end(), one.values[x_]) - columns.begin();
      cells[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)].push_back(*value);
    }
    for (auto& [key, cells] : samples) figure.panels.push_back(panel(key, cells));
    return figure;
  }

 private:
  [[nodiscard]] std::string axis_name(std::size_t axis) const {
    return view_.name(view_.case_axes()[axis]);
  }
  [[nodiscard]] bool numeric(std::size_t axis) const {
    return values_[axis].size() > 1 &&
           std::all_of(values_[axis].begin(), values_[axis].end(), [](const Cell& cell) {
             return cell_number(cell).has_value();
           });
  }
  [[nodiscard]] std::size_t index_of(const std::string& option, const std::string& axis) const {
    const std::string known = expect_one_of(option, axis, names_);
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), known) -
                                    names_.begin());
  }

  void choose_policies() {
    const auto& known = view_.policies();
    if (known.size() < 2) {
      throw InfeasibleError("a map compares two policies; this sweep has results of one");
    }
    over_ =
        options_.over.empty() ? view_.baseline() : expect_one_of("--over", options_.over, known);
    policy_ = options_.policy;
    if (policy_.empty()) policy_ = known.front() == over_ ? known[1] : known.front();
    static_cast<void>(expect_one_of("--policy", policy_, known));
    const auto place = [&](const std::string& name) {
      return static_cast<std::size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    };
    policy_index_ = place(policy_);
    over_index_ = place(over_);
    std::vector<std::string> columns;
    for (const Column& column : view_.table().columns) columns.push_back(column.name);
    static_cast<void>(expect_one_of("--metric", options_.metric, columns));
  }

  void choose_places() {
    if (!options_.x.empty()) x_ = index_of("--x", options_.x);
    if (!options_.y.empty()) y_ = index_of("--y", options_.y);
    for (std::size_t* const place : {&x_, &y_}) {
      if (*place != none) continue;
      for (std::size_t i = 0; i < values_.size(); ++i) {
        if (i == x_ || i == y_ || !numeric(i)) continue;
        if (*place == none || values_[i].size() > values_[*place].size()) *place = i;
      }
    }
    if (x_ == none || y_ == none) refuse_axes();
    if (x_ == y_) throw InfeasibleError("--x and --y name one axis; a map needs two");
    if (options_.x.empty() && options_.y.empty() && x_ < y_) std::swap(x_, y_);
  }

  [[noreturn]] void refuse_axes() const {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (numeric(i)) known.push_back(names_[i]);
    }
    throw InfeasibleError(
        fmt::format("a map needs two numeric axes besides those of the policies; this sweep has "
                    "{}\n  the folder plots/ of the sweep has curves along single axes",
                    known.empty() ? "none" : fmt::format("only {}", fmt::join(known, ", "))));
  }

  void choose_panels() {
    for (const auto& [axis, value] : options_.at) {
      const std::size_t index = index_of("--at", axis);
      std::vector<std::string> known;
      for (const Cell& cell : values_[index]) known.push_back(cell_text(cell));
      fixed_[index] = expect_one_of("--at " + axis, value, known);
    }
    std::size_t count = 1;
    const auto take = [&](std::size_t i) {
      panels_.push_back(i);
      count *= values_[i].size();
    };
    for (const std::string& axis : options_.panels) take(index_of("--panels", axis));
    if (!options_.panels.empty()) return;
    for (const bool numbers : {false, true}) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        if (i == x_ || i == y_ || fixed_.contains(i) || values_[i].size() < 2) continue;
        if (numeric(i) == numbers && count * values_[i].size() <= max_maps) take(i);
      }
    }
    std::sort(panels_.begin(), panels_.end());
  }

  [[nodiscard]] bool shown(const SweepCase& one) const {
    return std::all_of(fixed_.begin(), fixed_.end(), [&one](const auto& item) {
      return cell_text(one.values[item.first]) == item.second;
    });
  }

  [[nodiscard]] std::optional<double> ratio(const SweepCase& one) const {
    const SweepRun* run = SweepView::shortest(one, policy_index_);
    const SweepRun* other = SweepView::shortest(one, over_index_);
    if (run == nullptr || other == nullptr) return std::nullopt;
    const auto value = view_.number(run->row, options_.metric);
    const auto base = view_.number(other->row, options_.metric);
    if (!value || !base || *base <= 0) return std::nullopt;
    return *value / *base;
  }

  [[nodiscard]] HeatPanel panel(const std::vector<Cell>& key,
                                std::vector<std::vector<std::vector<double>>>& cells) const {
    HeatPanel made;
    std::vector<std::string> places;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      places.push_back(view_.place(panels_[i], key[i]));
    }
    made.title = fmt::format("{}", fmt::join(places, ", "));
    for (auto& row : cells) {
      auto& out = made.cells.emplace_back();
      for (std::vector<double>& values : row) {
        std::sort(values.begin(), values.end());
        out.push_back(values.empty() ? std::nullopt
                                     : std::optional{values[(values.size() - 1) / 2]});
      }
    }
    return made;
  }

  [[nodiscard]] std::string metric_words() const {
    return options_.metric == "makespan_us" ? "Makespan" : options_.metric;
  }

  [[nodiscard]] std::string subtitle() const {
    std::vector<std::string> parts;
    for (const auto& [axis, value] : fixed_) {
      parts.push_back(fmt::format("{} = {}", names_[axis], value));
    }
    std::vector<std::string> medians;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool panel = std::find(panels_.begin(), panels_.end(), i) != panels_.end();
      if (i == x_ || i == y_ || panel || fixed_.contains(i) || values_[i].size() < 2) continue;
      medians.push_back(names_[i]);
    }
    if (!medians.empty()) parts.push_back(fmt::format("median over {}", fmt::join(medians, ", ")));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  const SweepView& view_;
  const HeatMapOptions& options_;
  std::vector<std::set<Cell>> values_;  // by case axis
  std::vector<std::string> names_;
  std::string policy_;
  std::string over_;
  std::size_t policy_index_ = 0;
  std::size_t over_index_ = 0;
  std::size_t x_ = none;
  std::size_t y_ = none;
  std::vector<std::size_t> panels_;
  std::map<std::size_t, std::string> fixed_;
};

[[nodiscard]] bool has_two_numeric_axes(const SweepView& view) {
  std::size_t numeric = 0;
  for (const std::size_t axis : view.case_axes()) {
    std::set<double> values;
    for (const auto& row : view.table().rows) {
      if (const auto value = cell_number(row[axis])) values.insert(*value);
    }
    if (values.size() > 1) ++numeric;
  }
  return numeric >= 2;
}

}  // namespace

HeatFigure heat_map(const SweepView& view, const HeatMapOptions& options) {
  return HeatMap{view, options}.draw();
}

std::vector<SweepPlot> heat_maps(const SweepView& view) {
  std::vector<SweepPlot> plots;
  if (view.policies().size() < 2 || !has_two_numeric_axes(view)) return plots;
  for (const std::string& policy : view.policies()) {
    if (policy == view.baseline() || plots.size() == max_policies) continue;
    HeatMapOptions options;
    options.policy = policy;
    HeatFigure figure;
    try {
      figure = heat_map(view, options);
    } catch (const InfeasibleError&) {
      continue;  // axes of parts of the sweep, say, of which no two cross
    }
    plots.push_back({plot_file_name("map_" + policy), figure.title, heat_figure_svg(figure)});
  }
  return plots;
}

}  // namespace schedlab
