// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart.hpp"
#include "studies/comparison/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t rows_on_terminal = 8;
constexpr std::size_t rows_on_page = 100;

/// The report of a comparison, section by section.
class ComparisonReport {
 public:
  ComparisonReport(const Comparison& comparison, bool whole)
      : all_(comparison),
        whole_(whole),
        rows_(whole ? rows_on_page : rows_on_terminal),
        page_(fmt::format("{} against {}", comparison.second, comparison.first)) {}

  [[nodiscard]] ReportDocument write() {
    if (all_.runs) add_losses(*all_.runs);
    page_.paragraph(comparison_answer(all_) + ".", Tone::lead);
    if (all_.runs) add_evidence(*all_.runs);
    if (all_.runs) page_.paragraph(cause_text(*all_.runs), Tone::lead);
    for (const std::string& sentence : all_.broken) page_.paragraph(sentence + ".", Tone::warning);
    if (all_.runs) add_runs(*all_.runs);
    if (all_.scenarios) add_scenarios(*all_.scenarios);
    return std::move(page_);
  }

 private:
  void add_losses(const RunComparison& runs) {
    for (const auto& [name, loss] :
         {std::pair{&all_.first, &runs.first_loss}, std::pair{&all_.second, &runs.second_loss}}) {
      for (const std::string& said : {loss->lost, loss->assumed}) {
        if (!said.empty()) page_.paragraph(fmt::format("{}: {}.", *name, said), Tone::warning);
      }
    }
  }

  void add_evidence(const RunComparison& runs) {
    const bool alike = runs.first_evidence == runs.second_evidence;
    page_.paragraph(alike ? fmt::format("Times: {}.", to_string(runs.first_evidence))
                          : fmt::format("Times of the first: {}; of the second: {}.",
                                        to_string(runs.first_evidence),
                                        to_string(runs.second_evidence)),
                    alike ? Tone::note : Tone::warning);
  }

  static std::string change_text(Duration change) {
    return change <= Duration{0} ? signed_time(change) : "+" + readable(change);
  }

  /// "Of that, host +1.2 ms, device -0.1 ms."
  static std::string cause_text(const RunComparison& runs) {
    std::vector<std::pair<Duration, PathPart>> changes;
    for (std::size_t i = 0; i < path_part_count; ++i) {
      const auto part = static_cast<PathPart>(i);
      const Duration change = runs.second_path.of(part) - runs.first_path.of(part);
      if (change != Duration{0}) changes.emplace_back(change, part);
    }
    if (changes.empty()) return "Their critical paths are spent alike.";
    std::ranges::stable_sort(
        changes, std::greater{}, [](const auto& each) { return std::abs(each.first.count()); });
    std::vector<std::string> words;
    words.reserve(changes.size());
    for (const auto& [change, part] : changes) {
      words.push_back(fmt::format("{} {}", to_string(part), change_text(change)));
    }
    return fmt::format("Along the critical path: {}.", fmt::join(words, ", "));
  }

  void add_runs(const RunComparison& runs) {
    if (whole_) add_run_pictures(runs);
    add_path(runs);
    page_.heading("What is different");
    page_.list(runs.difference.sentences);
    add_totals("By kind of task", "kind", runs.kinds);
    if (whole_) add_totals("By operation", "operation", runs.operations);
    add_totals("By stream", "stream", runs.streams);
    add_tasks(runs);
  }

  void add_run_pictures(const RunComparison& runs) {
    BarFigure figure{.title = "What the critical path is spent on",
                     .subtitle = {},
                     .x_label = "time (us)",
                     .panels = {}};
    for (const auto& [name, parts] :
         {std::pair{"first", &runs.first_path}, std::pair{"second", &runs.second_path}}) {
      BarPanel& panel = figure.panels.emplace_back();
      panel.title = name;
      for (std::size_t i = 0; i < path_part_count; ++i) {
        const auto part = static_cast<PathPart>(i);
        const double time = to_us(parts->of(part));
        panel.bars.push_back({std::string{to_string(part)}, time, time, time});
      }
    }
    page_.figure(bar_figure_svg(figure));
    page_.figure(all_.picture);
  }

  void add_path(const RunComparison& runs) {
    page_.heading("By cause");
    PrintedTable table = empty_table({"critical path", "first", "second", "change"});
    for (std::size_t i = 0; i < path_part_count; ++i) {
      const auto part = static_cast<PathPart>(i);
      const Duration first = runs.first_path.of(part);
      const Duration second = runs.second_path.of(part);
      if (first == Duration{0} && second == Duration{0}) continue;
      table.rows.push_back({std::string{to_string(part)},
                            readable(first),
                            readable(second),
                            change_text(second - first)});
    }
    table.rows.push_back({"makespan",
                          readable(runs.first),
                          readable(runs.second),
                          change_text(runs.second - runs.first)});
    page_.table(std::move(table));
  }

  void add_totals(const char* title, const char* what, const std::vector<TotalsChange>& changes) {
    page_.heading(title);
    PrintedTable table = empty_table(
        {what, "tasks", "tasks 2nd", "running", "running 2nd", "change", "on path", "on path 2nd"});
    for (std::size_t i = 0; i < std::min(changes.size(), rows_); ++i) {
      const TotalsChange& change = changes[i];
      table.rows.push_back({change.name,
                            fmt::format("{}", change.first.tasks),
                            fmt::format("{}", change.second.tasks),
                            readable(change.first.running),
                            readable(change.second.running),
                            change_text(change.longer()),
                            readable(change.first.on_path),
                            readable(change.second.on_path)});
    }
    page_.table(std::move(table));
    say_of_more(changes.size());
  }

  void say_of_more(std::size_t all) {
    if (all <= rows_) return;
    page_.paragraph(fmt::format("{} more are in comparison.json or comparison.csv.", all - rows_),
                    Tone::note);
  }

  void add_tasks(const RunComparison& runs) {
    page_.heading("Tasks");
    page_.paragraph(
        runs.match == TaskMatch::by_number
            ? fmt::format("{} matched by their number and name.",
                          counted(runs.tasks.size(), "task"))
            : fmt::format("{} matched by name: the k-th to start of a name in one run is the k-th "
                          "to start of it in the other.",
                          counted(runs.tasks.size(), "task")));
    say_unmatched("first", runs.first_only);
    say_unmatched("second", runs.second_only);
    add_task_table("slower most", runs, true);
    add_task_table("faster most", runs, false);
  }

  void say_unmatched(const char* which, const UnmatchedTasks& only) {
    if (only.tasks == 0) return;
    page_.paragraph(fmt::format("Only the {} has {}, which run {}: {}{}",
                                which,
                                counted(only.tasks, "task"),
                                readable(only.running),
                                fmt::join(only.names, ", "),
                                only.names.size() < only.tasks ? ", ..." : "."),
                    Tone::plain);
  }

  void add_task_table(const char* title, const RunComparison& runs, bool slower) {
    PrintedTable table = empty_table({title, "stream", "first", "second", "change", "on path"}, 2);
    table.columns.back().is_number = false;
    const std::size_t all = runs.tasks.size();
    for (std::size_t i = 0; i < std::min(all, rows_); ++i) {
      const TaskChange& task = runs.tasks[slower ? i : all - 1 - i];
      if (slower ? task.longer() <= Duration{0} : task.longer() >= Duration{0}) break;
      table.rows.push_back({task.task,
                            task.first_stream == task.second_stream
                                ? task.first_stream
                                : task.first_stream + " -> " + task.second_stream,
                            readable(task.first),
                            readable(task.second),
                            change_text(task.longer()),
                            on_path_text(task)});
    }
    if (!table.rows.empty()) page_.table(std::move(table));
  }

  static std::string on_path_text(const TaskChange& task) {
    if (task.first_on_path) return task.second_on_path ? "both" : "first";
    return task.second_on_path ? "second" : "";
  }

  void add_scenarios(const ScenarioComparison& scenarios) {
    if (scenarios.first_program != scenarios.second_program) {
      page_.paragraph(fmt::format("The first was made by {}, the second by {}.",
                                  scenarios.first_program,
                                  scenarios.second_program));
    }
    say_alone(scenarios);
    add_axes(scenarios);
    add_winners(scenarios);
    add_numbers(scenarios);
    page_.heading("Scenarios");
    add_scenario_table("slower most", scenarios, true);
    add_scenario_table("faster most", scenarios, false);
    say_of_more(scenarios.scenarios.size());
  }

  void say_alone(const ScenarioComparison& scenarios) {
    const auto say = [&](const std::vector<std::string>& names, const char* what) {
      if (names.empty()) return;
      page_.paragraph(fmt::format(
          "{} {}, such as {}.", counted(names.size(), "scenario"), what, names.front()));
    };
    say(scenarios.first_only, "in the first alone");
    say(scenarios.second_only, "in the second alone");
    say(scenarios.first_failed, "without a time in the first");
    say(scenarios.second_failed, "without a time in the second");
    if (scenarios.lone_axes.empty()) return;
    page_.paragraph(
        fmt::format("Only one of the two has the axes {}; scenarios are matched by the "
                    "others.",
                    fmt::join(scenarios.lone_axes, ", ")));
  }

  void add_axes(const ScenarioComparison& scenarios) {
    if (scenarios.axes.empty()) return;
    page_.heading("By axis");
    if (whole_) add_axes_picture(scenarios);
    PrintedTable table = empty_table({"axis", "value", "scenarios", "ratio", "from", "to"}, 2);
    for (std::size_t i = 0; i < std::min(scenarios.axes.size(), 4 * rows_); ++i) {
      const AxisChange& axis = scenarios.axes[i];
      table.rows.push_back({axis.axis,
                            axis.value.empty() ? "-" : axis.value,
                            fmt::format("{}", axis.scenarios),
                            fmt::format("{:.4f}", axis.ratio),
                            fmt::format("{:.4f}", axis.min),
                            fmt::format("{:.4f}", axis.max)});
    }
    page_.table(std::move(table));
    page_.paragraph(
        "Ratio: geometric mean of second over first, above 1 where the second is slower.",
        Tone::note);
  }

  void add_axes_picture(const ScenarioComparison& scenarios) {
    BarFigure figure{.title = "Second over first",
                     .subtitle = "geometric means, lines from min to max; above 1: slower",
                     .x_label = "ratio of makespans",
                     .panels = {},
                     .reference = 1};
    for (const AxisChange& axis : scenarios.axes) {
      if (figure.panels.empty() || figure.panels.back().title != axis.axis) {
        figure.panels.push_back({axis.axis, {}});
      }
      figure.panels.back().bars.push_back(
          {axis.value.empty() ? "-" : axis.value, axis.ratio, axis.min, axis.max});
    }
    page_.figure(bar_figure_svg(figure));
  }

  void add_winners(const ScenarioComparison& scenarios) {
    if (scenarios.groups == 0) return;
    page_.heading("Who wins");
    page_.paragraph(fmt::format("Another policy is the fastest in {} of {}.",
                                scenarios.winners.size(),
                                counted(scenarios.groups, "case")));
    if (scenarios.winners.empty()) return;
    PrintedTable table = empty_table({"case", "first", "second", "former winner behind by"}, 3);
    for (std::size_t i = 0; i < std::min(scenarios.winners.size(), rows_); ++i) {
      const WinnerChange& winner = scenarios.winners[i];
      const bool noise = winner.decidable && !*winner.decidable;
      table.rows.push_back({winner.group.empty() ? "the only one" : winner.group,
                            winner.first_policy,
                            winner.second_policy,
                            percent(winner.loss, 2) + (noise ? " (within noise)" : "")});
    }
    page_.table(std::move(table));
    say_of_more(scenarios.winners.size());
  }

  void add_numbers(const ScenarioComparison& scenarios) {
    if (scenarios.numbers.empty()) return;
    page_.heading("How good the predictions are");
    PrintedTable table = empty_table({"number", "first", "second"});
    for (const NumberChange& number : scenarios.numbers) {
      table.rows.push_back({number.name, percent(number.first), percent(number.second)});
    }
    page_.table(std::move(table));
  }

  void add_scenario_table(const char* title, const ScenarioComparison& scenarios, bool slower) {
    PrintedTable table = empty_table({title, "first", "second", "change"});
    const std::size_t all = scenarios.scenarios.size();
    for (std::size_t i = 0; i < std::min(all, rows_); ++i) {
      const ScenarioChange& change = scenarios.scenarios[slower ? i : all - 1 - i];
      if (slower ? change.second <= change.first : change.second >= change.first) break;
      table.rows.push_back(
          {change.scenario,
           readable(change.first),
           readable(change.second),
           signed_percent(change.ratio() - 1, 2) + (change.counts() ? "" : " (within noise)")});
    }
    if (!table.rows.empty()) page_.table(std::move(table));
  }

  const Comparison& all_;
  bool whole_;
  std::size_t rows_;
  ReportDocument page_;
};

}  // namespace

ReportDocument comparison_report(const Comparison& comparison, bool whole) {
  return ComparisonReport(comparison, whole).write();
}

}  // namespace schedlab
