// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/sweep_bars.hpp"

#include "notebooks_export/chart.hpp"
#include "notebooks_export/like_for_like.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t max_values = 40;
constexpr std::size_t max_machines = 12;

/// Nothing without ratios.
void add_bar(std::vector<NamedBar>& bars, const std::string& name, const RatioSpread& ratios) {
  if (ratios.count == 0) return;
  bars.push_back({.name = name,
                  .value = ratios.mean(),
                  .low = ratios.range.low,
                  .high = ratios.range.high,
                  .emphasized = false});
}

template <class Better>
void emphasize_best(std::vector<NamedBar>& bars, Better better) {
  const auto best =
      std::max_element(bars.begin(), bars.end(), [&](const NamedBar& a, const NamedBar& b) {
        return better(b.value, a.value);
      });
  if (best != bars.end()) best->emphasized = true;
}

/// Place of the axis "machine" among those of cases, if its values fit.
std::optional<std::size_t> machine_axis(const SweepView& view) {
  for (std::size_t i = 0; i < view.case_axes().size(); ++i) {
    if (view.name(view.case_axes()[i]) != "machine") continue;
    std::set<Cell> values;
    for (const SweepCase& one : view.cases()) values.insert(one.values[i]);
    if (values.size() > 1 && values.size() <= max_machines) return i;
  }
  return std::nullopt;
}

/// Runs that differ in one axis only: makespan by the number of the axis's value.
using Alike = std::map<std::size_t, double>;

class AxisBars {
 public:
  AxisBars(const SweepView& view, std::size_t axis) : view_(view), axis_(axis) {
    for (const SweepCase& one : view.cases()) {
      for (const SweepRun& run : one.runs) {
        const Cell& value = view.table().rows[run.row][axis];
        if (std::holds_alternative<std::monostate>(value)) continue;
        const auto known = std::find(values_.begin(), values_.end(), value);
        const auto index = static_cast<std::size_t>(known - values_.begin());
        if (known == values_.end()) values_.push_back(value);
        alike_[run.policy][others_of(run)].emplace(index, run.makespan_us);
      }
    }
  }

  /// nullopt for numbers, of which there are lines, and where nothing can be compared.
  [[nodiscard]] std::optional<SweepPlot> plot() const {
    const bool words = std::any_of(
        values_.begin(), values_.end(), [](const Cell& cell) { return !cell_number(cell); });
    if (!words || values_.size() < 2 || values_.size() > max_values) return std::nullopt;
    const std::string& name = view_.name(axis_);
    const std::string first = fmt::format("{} = {}", name, cell_text(values_.front()));
    BarFigure figure{.title = fmt::format("Makespan by {}", name),
                     .subtitle = fmt::format("geometric mean over runs that are equal in all else, "
                                             "over that with {}; the line spans the smallest and "
                                             "the largest",
                                             first),
                     .x_label = fmt::format("makespan, {}: 1", first),
                     .panels = {},
                     .reference = 1};
    for (const auto& [policy, groups] : alike_) {
      BarPanel panel = panel_of(policy, groups);
      if (panel.bars.size() > 1) figure.panels.push_back(std::move(panel));
    }
    if (figure.panels.empty()) return std::nullopt;
    return SweepPlot{plot_file_name("makespan_by_" + name), figure.title, bar_figure_svg(figure)};
  }

 private:
  [[nodiscard]] std::vector<Cell> others_of(const SweepRun& run) const {
    std::vector<Cell> others;
    for (const auto* axes : {&view_.case_axes(), &view_.policy_axes()}) {
      for (const std::size_t axis : *axes) {
        if (axis != axis_) others.push_back(view_.table().rows[run.row][axis]);
      }
    }
    return others;
  }

  [[nodiscard]] BarPanel panel_of(std::size_t policy,
                                  const std::map<std::vector<Cell>, Alike>& groups) const {
    BarPanel panel{view_.policies()[policy], {}};
    for (std::size_t value = 0; value < values_.size(); ++value) {
      RatioSpread ratios;
      for (const auto& [others, makespans] : groups) {
        const auto first = makespans.find(0);
        const auto found = makespans.find(value);
        if (first == makespans.end() || found == makespans.end()) continue;
        if (first->second > 0) ratios.add(found->second / first->second);
      }
      add_bar(panel.bars, cell_text(values_[value]), ratios);
    }
    emphasize_best(panel.bars, std::less<>{});
    return panel;
  }

  const SweepView& view_;
  std::size_t axis_;
  std::vector<Cell> values_;  // in the order of the table
  // By policy and by what all other axes say.
  std::map<std::size_t, std::map<std::vector<Cell>, Alike>> alike_;
};

}  // namespace

SweepPlot speed_up_bars(const SweepView& view) {
  const bool split = !compared_granularities(view.table()).empty();
  BarFigure figure{
      .title = fmt::format("Speed-up over {}", view.baseline()),
      .subtitle =
          "geometric mean over all cases; the line spans the smallest and the largest" +
          (split ? fmt::format("; diamond: {} at the granularity of this policy", view.baseline())
           : given_differently(view) ? fmt::format("; {}", own_granularity)
                                     : std::string{}),
      .x_label = "speed-up",
      .panels = {},
      .reference = 1};
  const auto axis = machine_axis(view);
  std::vector<Cell> machines;  // in the order of the table
  for (const SweepCase& one : view.cases()) {
    const Cell value = axis ? one.values[*axis] : Cell{};
    if (std::find(machines.begin(), machines.end(), value) == machines.end()) {
      machines.push_back(value);
    }
  }
  for (const Cell& machine : machines) {
    BarPanel panel{cell_text(machine), {}};
    for (std::size_t policy = 0; policy < view.policies().size(); ++policy) {
      RatioSpread ratios;
      RatioSpread cuts;
      for (const SweepCase& one : view.cases()) {
        if (axis && one.values[*axis] != machine) continue;
        const SweepRun* run = SweepView::shortest(one, policy);
        if (run == nullptr) continue;
        ratios.add(view.speed_up(one, *run));
        const auto gain = split ? split_gain(view, one, *run) : std::nullopt;
        if (gain) cuts.add(gain->cut);
      }
      add_bar(panel.bars, view.policies()[policy], ratios);
      if (view.policies()[policy] != view.baseline() && ratios.mean() > 0) {
        panel.bars.back().mark = cuts.mean();
      }
    }
    emphasize_best(panel.bars, std::greater<>{});
    figure.panels.push_back(std::move(panel));
  }
  return {"speed_up", figure.title, bar_figure_svg(figure)};
}

std::vector<SweepPlot> value_bars(const SweepView& view) {
  std::vector<SweepPlot> plots;
  for (const auto* axes : {&view.case_axes(), &view.policy_axes()}) {
    for (const std::size_t axis : *axes) {
      if (view.same_durations() && view.name(axis) == "machine") continue;
      if (auto plot = AxisBars{view, axis}.plot()) plots.push_back(std::move(*plot));
    }
  }
  return plots;
}

}  // namespace schedlab
