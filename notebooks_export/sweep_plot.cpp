// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/sweep_plot.hpp"

#include "notebooks_export/chart.hpp"
#include "notebooks_export/gap_map.hpp"
#include "notebooks_export/gap_text.hpp"
#include "notebooks_export/like_for_like.hpp"
#include "notebooks_export/sweep_bars.hpp"
#include "notebooks_export/sweep_heat.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace schedlab {

namespace {

constexpr std::size_t max_panels = 12;
constexpr std::size_t max_lines = 8;

/// "layers" for people: the unit of the column's name in brackets.
[[nodiscard]] std::string label_of(const std::string& column) {
  for (const auto& [suffix, unit] :
       {std::pair{"_us", "us"}, std::pair{"_ms", "ms"}, std::pair{"_bytes", "bytes"}}) {
    if (column.ends_with(suffix)) {
      return fmt::format(
          "{} ({})", column.substr(0, column.size() - std::string{suffix}.size()), unit);
    }
  }
  return column;
}

/// Points of lines by panel, each line with its smallest value at each x. Panels stand in the order
/// in which they were first added, lines by their number.
class PanelLines {
 public:
  void add(const std::string& panel, std::size_t line, const std::string& name, Point point) {
    const auto found = std::find(titles_.begin(), titles_.end(), panel);
    const auto index = static_cast<std::size_t>(found - titles_.begin());
    if (found == titles_.end()) {
      titles_.push_back(panel);
      lines_.emplace_back();
    }
    Line& to = lines_[index][line];
    to.name = name;
    const auto entry = to.points.try_emplace(point.x, point.y).first;
    entry->second = std::min(entry->second, point.y);
  }

  /// Eight lines a panel.
  [[nodiscard]] std::vector<LinePanel> panels() const {
    std::vector<LinePanel> panels;
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      const std::string& title = titles_[i];
      LinePanel panel{title, {}};
      for (const auto& [number, line] : lines_[i]) {
        if (panel.series.size() == max_lines) {
          panels.push_back(std::move(panel));
          panel = {title.empty() ? "more lines" : title + ", more lines", {}};
        }
        Series& series = panel.series.emplace_back(Series{line.name, {}});
        for (const auto& [x, y] : line.points) series.points.push_back({x, y});
      }
      panels.push_back(std::move(panel));
    }
    return panels;
  }

 private:
  struct Line {
    std::string name;
    std::map<double, double> points;
  };
  std::vector<std::string> titles_;
  std::vector<std::map<std::size_t, Line>> lines_;  // by panel
};

/// What one figure shows: which cases, and how they are laid out.
struct Selection {
  std::size_t x = 0;                  // index in case_axes
  std::vector<std::size_t> panels;    // indices in case_axes: a panel per combination
  std::map<std::size_t, Cell> fixed;  // index in case_axes -> the only value that is shown
};

class Plots {
 public:
  explicit Plots(const SweepView& view) : view_(view), differently_(given_differently(view)) {
    values_.resize(view.case_axes().size());
    for (const SweepCase& one : view.cases()) {
      for (std::size_t i = 0; i < one.values.size(); ++i) values_[i].insert(one.values[i]);
    }
  }

  [[nodiscard]] std::vector<SweepPlot> all() {
    if (view_.cases().empty()) return {};
    if (view_.policies().size() > 1) plots_.push_back(speed_up_bars(view_));
    if (auto bars = gap_bars(view_)) plots_.push_back(std::move(*bars));
    if (auto map = gap_map(view_)) plots_.push_back(std::move(*map));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_numeric(values_[i])) add_lines_over(i);
    }
    for (const std::size_t axis : view_.policy_axes()) add_lines_over_knob(axis);
    for (SweepPlot& bars : value_bars(view_)) plots_.push_back(std::move(bars));
    for (SweepPlot& map : heat_maps(view_)) plots_.push_back(std::move(map));
    return std::move(plots_);
  }

 private:
  [[nodiscard]] static bool is_absent(const Cell& cell) {
    return std::holds_alternative<std::monostate>(cell);
  }
  /// Two numbers and more, and no words; some cases may be without a value.
  [[nodiscard]] static bool is_numeric(const std::set<Cell>& values) {
    const auto absent = std::count_if(values.begin(), values.end(), &is_absent);
    const auto numbers = std::count_if(values.begin(), values.end(), [](const Cell& cell) {
      return cell_number(cell).has_value();
    });
    return numbers > 1 && static_cast<std::size_t>(numbers + absent) == values.size();
  }
  [[nodiscard]] const std::string& axis_name(std::size_t axis) const {
    return view_.name(view_.case_axes()[axis]);
  }

  /// Panels for the other axes that vary: words first; numbers as long as they fit, of the
  /// rest the largest values.
  [[nodiscard]] Selection select(std::size_t x, std::size_t most) const {
    Selection selection;
    selection.x = x;
    std::size_t panels = 1;
    for (const bool numeric : {false, true}) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        if (i == x || values_[i].size() < 2 || is_numeric(values_[i]) != numeric) continue;
        if (panels * values_[i].size() <= most) {
          panels *= values_[i].size();
          selection.panels.push_back(i);
        } else {
          selection.fixed[i] = {};
        }
      }
    }
    std::sort(selection.panels.begin(), selection.panels.end());
    fix(selection);
    return selection;
  }

  /// To the largest values that stand together in a case with a value to be drawn: not all grids
  /// are full.
  void fix(Selection& selection) const {
    std::map<std::size_t, Cell> largest;
    for (const SweepCase& one : view_.cases()) {
      if (selection.x < one.values.size() && !cell_number(one.values[selection.x])) continue;
      std::map<std::size_t, Cell> here;
      for (const auto& [axis, value] : selection.fixed) here[axis] = one.values[axis];
      largest = std::max(largest, here);
    }
    selection.fixed = std::move(largest);
  }

  [[nodiscard]] std::string panel_title(const Selection& selection, const SweepCase& one) const {
    std::vector<std::string> places;
    for (const std::size_t axis : selection.panels) {
      if (!is_absent(one.values[axis])) places.push_back(view_.place(axis, one.values[axis]));
    }
    return fmt::format("{}", fmt::join(places, ", "));
  }

  /// "at layers = 4, machine = v100"; empty if all is shown.
  [[nodiscard]] std::string fixed_text(const Selection& selection) const {
    std::vector<std::string> places;
    for (const auto& [axis, value] : selection.fixed) {
      if (is_absent(value)) continue;
      places.push_back(fmt::format("{} = {}", axis_name(axis), cell_text(value)));
    }
    return places.empty() ? "" : fmt::format("at {}", fmt::join(places, ", "));
  }

  [[nodiscard]] std::string subtitle(const Selection& selection) const {
    std::vector<std::string> parts{fixed_text(selection)};
    if (parts.back().empty()) parts.pop_back();
    const bool variants = !view_.policy_axes().empty();
    if (view_.policies().size() > 1) {
      parts.emplace_back(variants ? "one line per policy, its best variant"
                                  : "one line per policy");
      if (differently_) parts.emplace_back(own_granularity);
    } else {
      parts.emplace_back(variants ? "the policy's best variant" : "one policy");
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  [[nodiscard]] static bool shown(const Selection& selection, const SweepCase& one) {
    return std::all_of(selection.fixed.begin(), selection.fixed.end(), [&one](const auto& item) {
      return one.values[item.first] == item.second;
    });
  }

  using Value = std::function<std::optional<double>(const SweepCase&, const SweepRun&)>;

  /// What is drawn along an axis.
  struct Quantity {
    std::string file;
    std::string title;
    std::string y_label;
    Value value;
    double reference = 0;  // 0: none, and each panel has its own scale
  };

  void add_figure(const std::string& x, const Quantity& of, LineFigure figure) {
    figure.title = of.title;
    figure.x_label = label_of(x);
    figure.y_label = of.y_label;
    plots_.push_back({plot_file_name(fmt::format("{}_over_{}", of.file, x)),
                      figure.title,
                      line_figure_svg(figure)});
  }

  void add_lines(const Selection& selection, const Quantity& of) {
    PanelLines lines;
    for (const SweepCase& one : view_.cases()) {
      const auto x = cell_number(one.values[selection.x]);
      if (!x || !shown(selection, one)) continue;
      const std::string title = panel_title(selection, one);
      for (std::size_t policy = 0; policy < view_.policies().size(); ++policy) {
        const SweepRun* run = SweepView::shortest(one, policy);
        const auto y = run == nullptr ? std::nullopt : of.value(one, *run);
        if (y) lines.add(title, policy, view_.policies()[policy], {*x, *y});
      }
    }
    LineFigure figure;
    figure.subtitle = subtitle(selection);
    figure.panels = lines.panels();
    figure.names = view_.policies();
    figure.shared_y = of.file != "makespan";
    figure.reference_y = of.reference;
    add_figure(axis_name(selection.x), of, std::move(figure));
  }

  void add_lines_over(std::size_t axis) {
    const Selection selection = select(axis, max_panels);
    const std::string& x = axis_name(axis);
    add_lines(selection,
              {"makespan",
               fmt::format("Makespan over {}", x),
               "makespan (ms)",
               [](const SweepCase&, const SweepRun& run) {
                 return std::optional{run.makespan_us / 1000};
               }});
    add_scatter_over(selection, x);
    if (view_.policies().size() < 2) return;
    add_lines(selection,
              {"speed_up",
               fmt::format("Speed-up over {}, along {}", view_.baseline(), x),
               "speed-up",
               [this](const SweepCase& one, const SweepRun& run) {
                 // The baseline is the dashed line at 1.
                 const bool itself = view_.policies()[run.policy] == view_.baseline();
                 return itself ? std::nullopt : view_.speed_up(one, run);
               },
               1});
  }

  /// Of machines that scatter: what that costs. Of several ranks: how long they wait for each other
  /// in collectives, on average over the samples where there are any.
  void add_scatter_over(const Selection& selection, const std::string& x) {
    if (has_number("makespan_us_mean")) {
      add_lines(selection,
                {"slow_down",
                 fmt::format("Slow-down by scatter over {}", x),
                 "mean makespan over that without",
                 [this](const SweepCase&, const SweepRun& run) -> std::optional<double> {
                   const auto mean = view_.number(run.row, "makespan_us_mean");
                   if (!mean || run.makespan_us <= 0) return std::nullopt;
                   return *mean / run.makespan_us;
                 },
                 1});
    }
    const std::string wait =
        has_number("collective_wait_us_mean") ? "collective_wait_us_mean" : "collective_wait_us";
    if (!has_number(wait)) return;
    add_lines(selection,
              {"collective_wait",
               fmt::format("Wait for the last rank in collectives over {}", x),
               "wait (us)",
               [this, &wait](const SweepCase&, const SweepRun& run) {
                 return view_.number(run.row, wait);
               }});
  }

  /// Does some run have a number other than 0 there?
  [[nodiscard]] bool has_number(const std::string& column) const {
    for (const SweepCase& one : view_.cases()) {
      for (const SweepRun& run : one.runs) {
        if (view_.number(run.row, column).value_or(0) != 0) return true;
      }
    }
    return false;
  }

  /// Along a knob: a panel per policy that has it, a line per case.
  void add_lines_over_knob(std::size_t axis) {
    const Selection selection = select(values_.size(), max_lines);
    std::vector<std::string> names;  // of the lines, in the order of the table
    std::set<double> places;
    PanelLines lines;
    for (const SweepCase& one : view_.cases()) {
      if (!shown(selection, one)) continue;
      const std::string name = panel_title(selection, one);
      const auto known = std::find(names.begin(), names.end(), name);
      const auto line = static_cast<std::size_t>(known - names.begin());
      if (known == names.end()) names.push_back(name);
      for (const SweepRun& run : one.runs) {
        const auto x = cell_number(view_.table().rows[run.row][axis]);
        if (!x) continue;
        places.insert(*x);
        const std::string& policy = view_.policies()[run.policy];
        lines.add(policy, line, name.empty() ? policy : name, {*x, run.makespan_us / 1000});
      }
    }
    if (places.size() < 2) return;
    LineFigure figure;
    figure.subtitle = fixed_text(selection);
    figure.panels = lines.panels();
    const std::string& x = view_.name(axis);
    add_figure(x,
               {"makespan", fmt::format("Makespan over {}", x), "makespan (ms)", {}},
               std::move(figure));
  }

  const SweepView& view_;
  bool differently_;
  std::vector<std::set<Cell>> values_;  // by case axis
  std::vector<SweepPlot> plots_;
};

}  // namespace

std::string plot_file_name(std::string_view what) {
  std::string name{what};
  std::replace_if(
      name.begin(),
      name.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
      },
      '_');
  return name;
}

std::vector<SweepPlot> sweep_plots(const SweepView& view) {
  return Plots{view}.all();
}

}  // namespace schedlab
