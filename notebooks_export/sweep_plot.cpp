// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/sweep_plot.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart.hpp"
#include "notebooks_export/like_for_like.hpp"
#include "notebooks_export/sweep_bars.hpp"
#include "notebooks_export/sweep_heat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace schedlab {

namespace {

constexpr std::size_t most_panels = 12;
constexpr std::size_t most_lines = 8;

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

[[nodiscard]] std::string file_name_of(const std::string& what) {
  std::string name;
  for (const char c : what) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain || c == '_' ? c : '_';
  }
  return name;
}

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
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_numeric(values_[i])) add_lines_over(i);
    }
    for (const std::size_t axis : view_.policy_axes()) add_lines_over_knob(axis);
    for (SweepPlot& bars : value_bars(view_)) {
      bars.file_name = file_name_of(bars.file_name);
      plots_.push_back(std::move(bars));
    }
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

  /// Panels for the other axes that vary: words first; numbers as long as there is room, of the
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
    std::string title;
    for (const std::size_t axis : selection.panels) {
      if (is_absent(one.values[axis])) continue;
      const std::string value = cell_text(one.values[axis]);
      const bool number = cell_number(one.values[axis]).has_value();
      title += fmt::format("{}{}",
                           title.empty() ? "" : ", ",
                           number ? fmt::format("{} = {}", axis_name(axis), value) : value);
    }
    return title;
  }

  [[nodiscard]] std::string subtitle(const Selection& selection) const {
    std::string text;
    for (const auto& [axis, value] : selection.fixed) {
      if (is_absent(value)) continue;
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", axis_name(axis), cell_text(value));
    }
    if (!text.empty()) text = "at " + text + "; ";
    const bool variants = !view_.policy_axes().empty();
    if (view_.policies().size() > 1) {
      return text + (variants ? "one line per policy, its best variant" : "one line per policy") +
             (differently_ ? fmt::format("; {}", own_granularity) : std::string{});
    }
    return text + (variants ? "the policy's best variant" : "one policy");
  }

  [[nodiscard]] static bool shown(const Selection& selection, const SweepCase& one) {
    return std::all_of(selection.fixed.begin(), selection.fixed.end(), [&one](const auto& item) {
      return one.values[item.first] == item.second;
    });
  }

  using Value = std::function<std::optional<double>(const SweepCase&, const SweepRun&)>;

  [[nodiscard]] std::vector<LinePanel> panels_of(const Selection& selection,
                                                 const Value& value) const {
    std::vector<std::string> titles;
    std::vector<std::map<std::size_t, Series>> lines;  // per panel: policy -> line
    for (const SweepCase& one : view_.cases()) {
      const auto x = cell_number(one.values[selection.x]);
      if (!x || !shown(selection, one)) continue;
      const std::string title = panel_title(selection, one);
      const auto found = std::find(titles.begin(), titles.end(), title);
      const auto panel = static_cast<std::size_t>(found - titles.begin());
      if (found == titles.end()) {
        titles.push_back(title);
        lines.emplace_back();
      }
      for (std::size_t policy = 0; policy < view_.policies().size(); ++policy) {
        const SweepRun* run = SweepView::shortest(one, policy);
        const auto y = run == nullptr ? std::nullopt : value(one, *run);
        if (!y) continue;
        Series& line = lines[panel][policy];
        line.name = view_.policies()[policy];
        line.points.push_back({*x, *y});
      }
    }
    std::vector<LinePanel> panels;
    for (std::size_t i = 0; i < titles.size(); ++i) add_panels(panels, titles[i], lines[i]);
    return panels;
  }

  /// Eight lines a panel.
  static void add_panels(std::vector<LinePanel>& panels,
                         const std::string& title,
                         std::map<std::size_t, Series>& lines) {
    LinePanel panel{title, {}};
    for (auto& [policy, line] : lines) {
      if (panel.series.size() == most_lines) {
        panels.push_back(std::move(panel));
        panel = {title.empty() ? "more lines" : title + ", more lines", {}};
      }
      std::sort(line.points.begin(), line.points.end(), [](Point a, Point b) { return a.x < b.x; });
      panel.series.push_back(std::move(line));
    }
    panels.push_back(std::move(panel));
  }

  void add_figure(const std::string& file_name, const LineFigure& figure) {
    plots_.push_back({file_name_of(file_name), figure.title, line_figure_svg(figure)});
  }

  void add_lines_over(std::size_t axis) {
    const Selection selection = select(axis, most_panels);
    const std::string& x = axis_name(axis);
    LineFigure makespan{.title = fmt::format("Makespan over {}", x),
                        .subtitle = subtitle(selection),
                        .x_label = label_of(x),
                        .y_label = "makespan (ms)",
                        .panels = panels_of(selection,
                                            [](const SweepCase&, const SweepRun& run) {
                                              return std::optional{run.makespan_us / 1000};
                                            }),
                        .names = view_.policies(),
                        .shared_y = false,
                        .reference_y = 0};
    add_figure("makespan_over_" + x, makespan);
    add_scatter_over(selection, x);
    if (view_.policies().size() < 2) return;
    LineFigure speed_up{
        .title = fmt::format("Speed-up over {}, along {}", view_.baseline(), x),
        .subtitle = subtitle(selection),
        .x_label = label_of(x),
        .y_label = "speed-up",
        .panels = panels_of(selection,
                            [this](const SweepCase& one, const SweepRun& run) {
                              // The baseline is the dashed line at 1.
                              const bool itself = view_.policies()[run.policy] == view_.baseline();
                              return itself ? std::nullopt : view_.speed_up(one, run);
                            }),
        .names = view_.policies(),
        .shared_y = true,
        .reference_y = 1};
    add_figure("speed_up_over_" + x, speed_up);
  }

  /// Of machines that scatter: what that costs. Of several ranks: how long they wait for each other
  /// in collectives, on average over the samples where there are any.
  void add_scatter_over(const Selection& selection, const std::string& x) {
    const auto add = [&](const std::string& file,
                         const std::string& title,
                         const std::string& y,
                         double reference,
                         const Value& value) {
      const LineFigure figure{.title = fmt::format("{} over {}", title, x),
                              .subtitle = subtitle(selection),
                              .x_label = label_of(x),
                              .y_label = y,
                              .panels = panels_of(selection, value),
                              .names = view_.policies(),
                              .shared_y = true,
                              .reference_y = reference};
      add_figure(file + "_over_" + x, figure);
    };
    if (has_number("makespan_us_mean")) {
      add("slow_down",
          "Slow-down by scatter",
          "mean makespan over that without",
          1,
          [this](const SweepCase&, const SweepRun& run) -> std::optional<double> {
            const auto mean = view_.number(run.row, "makespan_us_mean");
            if (!mean || run.makespan_us <= 0) return std::nullopt;
            return *mean / run.makespan_us;
          });
    }
    const std::string wait =
        has_number("collective_wait_us_mean") ? "collective_wait_us_mean" : "collective_wait_us";
    if (!has_number(wait)) return;
    add("collective_wait",
        "Wait for the last rank in collectives",
        "wait (us)",
        0,
        [this, &wait](const SweepCase&, const SweepRun& run) {
          return view_.number(run.row, wait);
        });
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
    std::map<std::size_t, std::map<std::size_t, std::map<double, double>>> by_policy;
    std::vector<std::string> names;  // of the lines, in the order of the table
    std::set<double> places;
    Selection selection;
    selection.x = values_.size();
    selection = select(selection.x, most_lines);
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
        auto& best =
            by_policy[run.policy][line].try_emplace(*x, run.makespan_us / 1000).first->second;
        best = std::min(best, run.makespan_us / 1000);
      }
    }
    if (places.size() < 2) return;
    const std::string& x = view_.name(axis);
    LineFigure figure{.title = fmt::format("Makespan over {}", x),
                      .subtitle = "",
                      .x_label = label_of(x),
                      .y_label = "makespan (ms)",
                      .panels = {},
                      .names = {},
                      .shared_y = false,
                      .reference_y = 0};
    for (const auto& [axis_index, value] : selection.fixed) {
      if (is_absent(value)) continue;
      figure.subtitle += fmt::format("{}{} = {}",
                                     figure.subtitle.empty() ? "at " : ", ",
                                     axis_name(axis_index),
                                     cell_text(value));
    }
    for (const auto& [policy, lines] : by_policy) {
      std::map<std::size_t, Series> series;
      for (const auto& [index, points] : lines) {
        Series line{names[index].empty() ? view_.policies()[policy] : names[index], {}};
        for (const auto& [at, makespan] : points) line.points.push_back({at, makespan});
        series.emplace(series.size(), std::move(line));
      }
      add_panels(figure.panels, view_.policies()[policy], series);
    }
    add_figure("makespan_over_" + x, figure);
  }

  const SweepView& view_;
  bool differently_;
  std::vector<std::set<Cell>> values_;  // by case axis
  std::vector<SweepPlot> plots_;
};

}  // namespace

std::vector<SweepPlot> sweep_plots(const SweepView& view) {
  return Plots{view}.all();
}

std::vector<SweepPlot> sweep_plots(const Table& table, const SweepViewOptions& options) {
  const SweepView view{table, options};
  return sweep_plots(view);
}

}  // namespace schedlab
