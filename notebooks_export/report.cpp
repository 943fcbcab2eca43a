// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/report.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/crossovers.hpp"
#include "notebooks_export/gap_text.hpp"
#include "notebooks_export/like_for_like.hpp"
#include "notebooks_export/report_document.hpp"
#include "notebooks_export/sweep_plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace schedlab {

namespace {

constexpr std::size_t max_notes = 8;
constexpr std::size_t max_axis_values = 20;
constexpr std::string_view scenario_column = "scenario";
constexpr std::size_t max_explored = 1'000'000;  // cells that a page embeds
constexpr std::size_t min_explored = 8;          // columns, whatever that costs

/// "1.42"; empty without a value.
[[nodiscard]] std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.3g}", *ratio) : "";
}

[[nodiscard]] bool has_number(const SweepView& view, std::size_t case_axis) {
  return std::any_of(view.cases().begin(), view.cases().end(), [case_axis](const SweepCase& one) {
    return cell_number(one.values[case_axis]).has_value();
  });
}

/// A table with a row per case, which begins with where the case stands on each axis.
[[nodiscard]] PrintedTable case_table(const SweepView& view,
                                      std::vector<PrintedTable::Column> more) {
  PrintedTable table;
  for (std::size_t i = 0; i < view.case_axes().size(); ++i) {
    table.columns.push_back({view.name(view.case_axes()[i]), has_number(view, i)});
  }
  table.columns.insert(table.columns.end(), more.begin(), more.end());
  return table;
}

[[nodiscard]] std::vector<std::string> axis_texts(const SweepCase& one) {
  std::vector<std::string> texts;
  for (const Cell& value : one.values) texts.push_back(cell_text(value));
  return texts;
}

/// The report of a sweep, section by section.
class SweepReport {
 public:
  SweepReport(const Table& table, const ReportOptions& options)
      : options_(options), view_(table, options.view), page_(options.title) {}

  [[nodiscard]] ReportDocument write() {
    std::vector<SweepPlot> plots;
    if (options_.along_axes) plots = sweep_plots(view_);
    write_answer();
    for (const ReportFigure& map : options_.maps) page_.figure(map.svg);
    if (!plots.empty() && options_.maps.empty()) {
      page_.figure(std::move(plots.front().svg));
      plots.erase(plots.begin());
    }
    write_facts();
    write_comparison();
    for (const ReportTable& one : options_.tables) write_table(one);
    write_plots(std::move(plots));
    write_axes();
    page_.heading("All results");
    write_explorer();
    write_rows(view_.table(), "; results.csv has all");
    if (!options_.spec.empty()) {
      page_.heading("The spec");
      page_.code(options_.spec);
    }
    return std::move(page_);
  }

 private:
  void write_answer() {
    std::string answer;
    for (const std::string& sentence :
         {options_.lead, gap_text(view_), winning_gain_text(view_), options_.certainty}) {
      if (!sentence.empty()) answer += (answer.empty() ? "" : " ") + sentence;
    }
    page_.paragraph(std::move(answer), Tone::lead);
    for (const std::string& warning : options_.warnings) page_.paragraph(warning, Tone::warning);
    if (const std::size_t failed = view_.failed_count(); failed > 0) {
      page_.paragraph(fmt::format("{} {} without a result; the column \"note\" says why.",
                                  counted(failed, "scenario"),
                                  failed == 1 ? "is" : "are"),
                      Tone::warning);
    }
  }

  void write_facts() {
    const std::size_t policies = view_.policies().size();
    page_.paragraph(fmt::format("{}: {}, {} {}{}{}",
                                counted(view_.run_count(), "scenario"),
                                counted(view_.cases().size(), "case"),
                                policies,
                                policies == 1 ? "policy" : "policies",
                                options_.program.empty() ? "" : ". Made by ",
                                options_.program));
    page_.paragraph(options_.description);
    write_notes();
  }

  /// What is said of scenarios that have a result, each once.
  void write_notes() {
    const Table& table = view_.table();
    const std::size_t note = column_index(table, "note");
    const std::size_t makespan = column_index(table, "makespan_us");
    if (note == table.columns.size() || makespan == table.columns.size()) return;
    std::map<std::string, std::size_t> notes;
    for (const auto& row : table.rows) {
      if (cell_number(row[makespan]) && !cell_text(row[note]).empty()) {
        ++notes[cell_text(row[note])];
      }
    }
    std::size_t shown = 0;
    for (const auto& [text, count] : notes) {
      if (shown++ == max_notes) break;
      page_.paragraph(fmt::format("In {}: {}.", counted(count, "scenario"), text), Tone::note);
    }
  }

  void write_axes() {
    page_.heading("What was compared");
    PrintedTable axes = empty_table({"axis", "values"}, 2);
    const Table& table = view_.table();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].role != ColumnRole::axis) continue;
      axes.rows.push_back({table.columns[i].name, values_of(i)});
    }
    page_.table(std::move(axes));
  }

  /// The different values of a column in the order of the table.
  [[nodiscard]] std::string values_of(std::size_t column) const {
    std::vector<std::string> values;
    std::set<std::string> seen;
    for (const auto& row : view_.table().rows) {
      const std::string value = cell_text(row[column]);
      if (!value.empty() && seen.insert(value).second) values.push_back(value);
    }
    const std::size_t all = values.size();
    values.resize(std::min(all, max_axis_values));
    const std::string text = fmt::format("{}", fmt::join(values, ", "));
    return values.size() == all ? text : fmt::format("{} and {} more", text, all - values.size());
  }

  void write_comparison() {
    if (view_.cases().empty()) return;
    if (view_.policies().size() < 2) {
      write_runs();
      return;
    }
    page_.heading("Which policy is fastest");
    for (const std::string& line : comparison_text(view_)) page_.paragraph(line);
    write_table({"What each policy was given",
                 "Granularity: how finely the workload is cut into tasks. Work: all tasks on all "
                 "units of the device. A range spans the cases.",
                 given_table(view_)});
    if (!compared_granularities(view_.table()).empty()) {
      const Table alike = like_for_like_table(view_.table());
      const SweepView same(alike, options_.view);
      write_best(same, "Like for like: the best policy at each granularity", false);
      write_crossovers(same, "Where the order turns, like for like");
    }
    const bool differently = given_differently(view_);
    write_best(view_,
               differently ? "The best policy of each case, each at its own granularity"
                           : "The best policy of each case",
               true);
    write_crossovers(view_,
                     differently ? "Where the order turns, each policy at its own granularity"
                                 : "Where the order turns");
  }

  /// `whole`: with all that is known of a run; the runs of like_for_like_table() have a makespan.
  void write_best(const SweepView& view, const std::string& title, bool whole) {
    const bool split = whole && !compared_granularities(view.table()).empty();
    std::vector<PrintedTable::Column> columns{{"best policy"}};
    if (split) columns.push_back({"granularity"});
    columns.insert(columns.end(), {{"makespan", true}, {"speed-up", true}});
    if (split) columns.insert(columns.end(), {{"cut", true}, {"order", true}});
    if (whole) columns.push_back({"what limits it"});
    PrintedTable table = case_table(view, std::move(columns));
    for (const SweepCase& one : view.cases()) {
      if (table.rows.size() == options_.max_cases) break;
      table.rows.push_back(best_row(view, one, whole, split));
      if (whole) table.targets.push_back(timeline_of(view, one.runs[*one.best].row));
    }
    table.target_column = view.case_axes().size();
    page_.heading(title);
    page_.table(std::move(table));
    if (view.cases().size() > options_.max_cases) {
      page_.paragraph(fmt::format("The first {} of {} cases; results.csv has all.",
                                  options_.max_cases,
                                  view.cases().size()),
                      Tone::note);
    }
    std::string reading = fmt::format(
        "Speed-up: makespan of {} over makespan of the best policy, same case.", view.baseline());
    if (split) {
      reading += fmt::format(
          " It is the product of cut (makespan of {0} over its makespan at the granularity of the "
          "best policy) and order (the latter over that of the best policy).",
          view.baseline());
    }
    page_.paragraph(std::move(reading), Tone::note);
  }

  [[nodiscard]] static std::vector<std::string> best_row(const SweepView& view,
                                                         const SweepCase& one,
                                                         bool whole,
                                                         bool split) {
    const SweepRun& best = one.runs[*one.best];
    std::vector<std::string> row = axis_texts(one);
    row.push_back(best.variant);
    if (split) row.push_back(view.text(best.row, "task_granularity"));
    row.push_back(readable(from_us(best.makespan_us)));
    row.push_back(ratio_text(view.speed_up(one, best)));
    if (split) {
      const auto gain = split_gain(view, one, best);
      row.push_back(gain ? ratio_text(gain->cut) : "");
      row.push_back(gain ? ratio_text(gain->order) : "");
    }
    if (whole) row.push_back(explain_run(view, one, best));
    return row;
  }

  /// The page with the timeline of a row; empty: there is none.
  [[nodiscard]] std::string timeline_of(const SweepView& view, std::size_t row) const {
    const auto found = options_.timelines.find(view.text(row, scenario_column));
    return found == options_.timelines.end() ? std::string{} : found->second;
  }

  /// Of one policy there is no best one: the runs, shortest first.
  void write_runs() {
    std::vector<const SweepCase*> order;
    for (const SweepCase& one : view_.cases()) order.push_back(&one);
    const auto makespan_of = [](const SweepCase* one) { return one->runs[*one->best].makespan_us; };
    std::stable_sort(order.begin(), order.end(), [&](const SweepCase* a, const SweepCase* b) {
      return makespan_of(a) < makespan_of(b);
    });
    const double longest = makespan_of(order.back());
    const bool variants = !view_.policy_axes().empty();
    std::vector<PrintedTable::Column> columns{
        {"makespan", true}, {"longest over it", true}, {"what limits it"}};
    if (variants) columns.insert(columns.begin(), {"best variant"});
    PrintedTable table = case_table(view_, std::move(columns));
    order.resize(std::min(order.size(), options_.max_cases));
    for (const SweepCase* one : order) {
      const SweepRun& best = one->runs[*one->best];
      std::vector<std::string>& row = table.rows.emplace_back(axis_texts(*one));
      if (variants) row.push_back(best.variant);
      row.push_back(readable(from_us(best.makespan_us)));
      row.push_back(ratio_text(longest / best.makespan_us));
      row.push_back(explain_run(view_, *one, best));
    }
    page_.heading("The runs, shortest first");
    page_.table(std::move(table));
  }

  void write_crossovers(const SweepView& view, const std::string& title) {
    if (!options_.along_axes) return;
    const Crossovers all = crossovers(view);
    if (all.lines == 0) return;
    Table table;
    using enum ColumnRole;
    table.columns = {{"policy", axis},
                     {"axis", axis},
                     {"slower up to", metric},
                     {"faster from", metric},
                     {"than", axis},
                     {"at", note}};
    for (const Crossover& one : all.found) {
      table.rows.push_back({view.policies()[one.policy],
                            view.name(one.axis),
                            one.last,
                            one.first,
                            view.policies()[one.other],
                            one.rest});
    }
    write_table({title,
                 fmt::format("Two policies along a numeric axis, all else equal, each by its best "
                             "variant: the faster one changes in {} of {} such pairs.",
                             all.turning,
                             all.lines),
                 std::move(table)});
  }

  void write_table(const ReportTable& one) {
    page_.heading(one.title);
    page_.paragraph(one.note);
    if (!one.table.rows.empty()) write_rows(one.table, "");
  }

  void write_rows(const Table& table, std::string_view elsewhere) {
    PrintedTable printed = printed_table(table, options_.max_rows);
    if (!table.columns.empty() && table.columns.front().name == scenario_column) {
      for (const auto& row : printed.rows) {
        const auto found = options_.timelines.find(row.front());
        printed.targets.push_back(found == options_.timelines.end() ? "" : found->second);
      }
    }
    page_.table(std::move(printed));
    if (table.rows.size() <= options_.max_rows) return;
    page_.paragraph(
        fmt::format("The first {} of {} rows{}.", options_.max_rows, table.rows.size(), elsewhere),
        Tone::note);
  }

  /// All rows, or of many the columns that matter most: what varies, axes first.
  void write_explorer() {
    const Table& table = view_.table();
    std::vector<std::size_t> columns;
    const auto add = [&](std::size_t column) {
      const bool known = std::find(columns.begin(), columns.end(), column) != columns.end();
      if (column < table.columns.size() && !known && view_.varies(column))
        columns.push_back(column);
    };
    add(column_index(table, scenario_column));
    if (columns.empty()) return;
    for (const bool axes : {true, false}) {
      if (!axes) {
        for (const char* name : {"makespan_us", "speed_up", "utilization", "case_gap"}) {
          add(column_index(table, name));
        }
      }
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (table.columns[i].role == (axes ? ColumnRole::axis : ColumnRole::metric)) add(i);
      }
    }
    columns.resize(
        std::min(columns.size(), std::max(min_explored, max_explored / table.rows.size())));
    ReportDocument::Explorer explorer{
        .rows = {}, .x = {}, .y = "makespan_us", .colour = "policy", .targets = options_.timelines};
    for (const std::size_t i : columns) explorer.rows.columns.push_back(table.columns[i]);
    for (const auto& row : table.rows) {
      auto& shown = explorer.rows.rows.emplace_back();
      for (const std::size_t i : columns) shown.push_back(row[i]);
    }
    for (std::size_t axis = 0; axis < view_.case_axes().size(); ++axis) {
      const std::size_t column = view_.case_axes()[axis];
      if (!view_.varies(column) || (!explorer.x.empty() && !has_number(view_, axis))) continue;
      explorer.x = view_.name(column);
      if (has_number(view_, axis)) break;
    }
    page_.explorer(std::move(explorer));
  }

  void write_plots(std::vector<SweepPlot> plots) {
    if (!plots.empty()) page_.heading("Along the axes");
    for (SweepPlot& plot : plots) {
      page_.figure(std::move(plot.svg));
    }
    if (!options_.figures.empty()) page_.heading("Timelines");
    for (const ReportFigure& figure : options_.figures) {
      page_.heading(figure.title, 3);
      if (!figure.target.empty()) page_.link("Explore this timeline", figure.target);
      page_.figure(figure.svg);
    }
  }

  const ReportOptions& options_;
  SweepView view_;
  ReportDocument page_;
};

}  // namespace

std::string report_html(const Table& table, const ReportOptions& options) {
  return html_of(SweepReport{table, options}.write());
}

}  // namespace schedlab
