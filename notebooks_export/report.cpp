// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/report.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/crossovers.hpp"
#include "notebooks_export/html_style.hpp"
#include "notebooks_export/like_for_like.hpp"
#include "notebooks_export/sweep_plot.hpp"
#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace schedlab {

namespace {

constexpr std::size_t most_notes = 8;

/// The report, section by section.
class Report {
 public:
  Report(const Table& table, const ReportOptions& options)
      : options_(options), view_(table, options.view) {}

  [[nodiscard]] std::string write() {
    begin_html_page(out_, options_.title);
    write_heading();
    write_axes();
    write_comparison();
    for (const ReportTable& one : options_.tables) write_table(one);
    write_plots();
    write_results();
    write_spec();
    end_html_page(out_);
    return std::move(out_).take();
  }

 private:
  void element(std::string_view tag, std::string_view text, std::string_view css_class = {}) {
    html_element(out_, tag, text, css_class);
  }
  void cell(const Cell& value) { element("td", cell_text(value), cell_number(value) ? "n" : ""); }

  void write_heading() {
    element("h1", options_.title);
    const std::size_t runs = view_.run_count();
    out_ << '\n';
    element("p",
            fmt::format("{} scenario{}: {} case{}, {} polic{}{}{}",
                        runs,
                        runs == 1 ? "" : "s",
                        view_.cases().size(),
                        view_.cases().size() == 1 ? "" : "s",
                        view_.policies().size(),
                        view_.policies().size() == 1 ? "y" : "ies",
                        options_.program.empty() ? "" : ". Made by ",
                        options_.program),
            "lead");
    out_ << '\n';
    if (!options_.description.empty()) element("p", options_.description);
    for (const std::string& warning : options_.warnings) element("p", warning, "warning");
    if (view_.failed_count() > 0) {
      element("p",
              fmt::format("{} scenario{} without a result; the column \"note\" says why.",
                          view_.failed_count(),
                          view_.failed_count() == 1 ? " is" : "s are"),
              "warning");
    }
    write_notes();
  }

  /// What is said of scenarios that have a result, each once.
  void write_notes() {
    const Table& table = view_.table();
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find_if(table.columns.begin(),
                                                   table.columns.end(),
                                                   [&](const auto& c) { return c.name == name; }) -
                                      table.columns.begin());
    };
    const std::size_t note = column("note");
    const std::size_t makespan = column("makespan_us");
    if (note == table.columns.size() || makespan == table.columns.size()) return;
    std::map<std::string, std::size_t> notes;
    for (const auto& row : table.rows) {
      if (cell_number(row[makespan]) && !cell_text(row[note]).empty()) {
        ++notes[cell_text(row[note])];
      }
    }
    std::size_t shown = 0;
    for (const auto& [text, count] : notes) {
      if (shown++ == most_notes) break;
      element(
          "p", fmt::format("In {} scenario{}: {}.", count, count == 1 ? "" : "s", text), "note");
    }
  }

  void write_axes() {
    out_ << "\n<h2>What was compared</h2>\n<table>\n<tr><th>axis</th><th>values</th></tr>\n";
    const Table& table = view_.table();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].role != ColumnRole::axis) continue;
      out_ << "<tr>";
      element("td", table.columns[i].name);
      element("td", values_of(i));
      out_ << "</tr>\n";
    }
    out_ << "</table>\n";
  }

  /// The different values of a column in the order of the table, at most twenty.
  [[nodiscard]] std::string values_of(std::size_t column) const {
    std::vector<std::string> values;
    std::set<std::string> seen;
    for (const auto& row : view_.table().rows) {
      const std::string value = cell_text(row[column]);
      if (!value.empty() && seen.insert(value).second) values.push_back(value);
    }
    const std::size_t shown = std::min<std::size_t>(values.size(), 20);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + values[i];
    if (shown < values.size()) text += fmt::format(" and {} more", values.size() - shown);
    return text;
  }

  void write_comparison() {
    if (view_.cases().empty()) return;
    if (view_.policies().size() < 2) {
      write_runs();
      return;
    }
    out_ << "\n<h2>Which policy is fastest</h2>\n";
    for (const std::string& line : comparison_text(view_)) {
      element("p", line);
      out_ << '\n';
    }
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
  void write_best(const SweepView& view, std::string_view title, bool whole) {
    const bool split = whole && !compared_granularities(view.table()).empty();
    out_ << "\n";
    element("h2", title);
    out_ << "\n<div class=\"scroll\"><table>\n<tr>";
    for (const std::size_t axis : view.case_axes()) element("th", view.name(axis));
    element("th", "best policy");
    if (split) element("th", "granularity");
    element("th", "makespan", "n");
    element("th", "speed-up", "n");
    if (split) element("th", "cut", "n");
    if (split) element("th", "order", "n");
    if (whole) element("th", "what limits it");
    out_ << "</tr>\n";
    for (std::size_t i = 0; i < std::min(view.cases().size(), options_.most_cases); ++i) {
      write_best_of(view, view.cases()[i], whole, split);
    }
    out_ << "</table></div>\n";
    if (view.cases().size() > options_.most_cases) {
      element("p",
              fmt::format("The first {} of {} cases; results.csv has all.",
                          options_.most_cases,
                          view.cases().size()),
              "note");
    }
    element("p",
            fmt::format("Speed-up: makespan of {} over makespan of the best policy, same case.{}",
                        view.baseline(),
                        split ? fmt::format(" It is the product of cut (makespan of {0} over its "
                                            "makespan at the granularity of the best policy) and "
                                            "order (the latter over that of the best policy).",
                                            view.baseline())
                              : ""),
            "note");
  }

  void write_best_of(const SweepView& view, const SweepCase& one, bool whole, bool split) {
    const SweepRun& best = one.runs[*one.best];
    out_ << "<tr>";
    for (const Cell& value : one.values) cell(value);
    element("td", best.variant);
    if (split) element("td", view.text(best.row, "task_granularity"));
    element("td", readable(from_us(best.makespan_us)), "n");
    const auto ratio = [&](std::optional<double> value) {
      element("td", value ? fmt::format("{:.3g}", *value) : "", "n");
    };
    ratio(view.speed_up(one, best));
    if (split) {
      const auto gain = split_gain(view, one, best);
      ratio(gain ? std::optional{gain->cut} : std::nullopt);
      ratio(gain ? std::optional{gain->order} : std::nullopt);
    }
    if (whole) element("td", explain_run(view, one, best));
    out_ << "</tr>\n";
  }

  /// Of one policy there is no best one: the runs, shortest first.
  void write_runs() {
    std::vector<const SweepCase*> order;
    for (const SweepCase& one : view_.cases()) order.push_back(&one);
    std::stable_sort(order.begin(), order.end(), [](const SweepCase* a, const SweepCase* b) {
      return a->runs[*a->best].makespan_us < b->runs[*b->best].makespan_us;
    });
    const double longest = order.back()->runs[*order.back()->best].makespan_us;
    out_ << "\n<h2>The runs, shortest first</h2>\n<div class=\"scroll\"><table>\n<tr>";
    for (const std::size_t axis : view_.case_axes()) element("th", view_.name(axis));
    if (!view_.policy_axes().empty()) element("th", "best variant");
    element("th", "makespan", "n");
    element("th", "longest over it", "n");
    element("th", "what limits it");
    out_ << "</tr>\n";
    for (std::size_t i = 0; i < std::min(order.size(), options_.most_cases); ++i) {
      const SweepCase& one = *order[i];
      const SweepRun& best = one.runs[*one.best];
      out_ << "<tr>";
      for (const Cell& value : one.values) cell(value);
      if (!view_.policy_axes().empty()) element("td", best.variant);
      element("td", readable(from_us(best.makespan_us)), "n");
      element("td", fmt::format("{:.3g}", longest / best.makespan_us), "n");
      element("td", explain_run(view_, one, best));
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  void write_crossovers(const SweepView& view, std::string_view title) {
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
    write_table({std::string{title},
                 fmt::format("Two policies along a numeric axis, all else equal, each by its best "
                             "variant: the faster one changes in {} of {} such pairs.",
                             all.turning,
                             all.lines),
                 std::move(table)});
  }

  void write_table(const ReportTable& one) {
    const Table& table = one.table;
    out_ << '\n';
    element("h2", one.title);
    out_ << '\n';
    element("p", one.note);
    if (table.rows.empty()) return;
    write_rows(table);
    if (options_.most_rows < table.rows.size()) {
      element("p",
              fmt::format("The first {} of {} rows.", options_.most_rows, table.rows.size()),
              "note");
    }
  }

  void write_plots() {
    const std::vector<SweepPlot> plots = sweep_plots(view_);
    if (!plots.empty()) out_ << "\n<h2>Along the axes</h2>\n";
    for (const SweepPlot& plot : plots) out_ << "<figure>\n" << plot.svg << "</figure>\n";
    if (!options_.figures.empty()) out_ << "\n<h2>Timelines</h2>\n";
    for (const ReportFigure& figure : options_.figures) {
      element("h3", figure.title);
      out_ << "\n<figure>\n" << figure.svg << "</figure>\n";
    }
  }

  void write_results() {
    const Table& table = view_.table();
    out_ << "\n<h2>All results</h2>";
    write_rows(table);
    if (options_.most_rows < table.rows.size()) {
      element("p",
              fmt::format("The first {} of {} rows; results.csv has all.",
                          options_.most_rows,
                          table.rows.size()),
              "note");
    }
  }

  void write_rows(const Table& table) {
    out_ << "\n<div class=\"scroll\"><table class=\"all\">\n<tr>";
    std::vector<bool> numeric(table.columns.size(), false);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      numeric[i] = std::any_of(table.rows.begin(), table.rows.end(), [i](const auto& row) {
        return cell_number(row[i]).has_value();
      });
      element("th", table.columns[i].name, numeric[i] ? "n" : "");
    }
    out_ << "</tr>\n";
    const std::size_t shown = std::min(table.rows.size(), options_.most_rows);
    for (std::size_t row = 0; row < shown; ++row) {
      out_ << "<tr>";
      for (const Cell& value : table.rows[row]) cell(value);
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  void write_spec() {
    if (options_.spec.empty()) return;
    out_ << "\n<h2>The spec</h2>\n";
    element("pre", options_.spec);
    out_ << '\n';
  }

  const ReportOptions& options_;
  SweepView view_;
  TextBuffer out_;
};

}  // namespace

std::string report_html(const Table& table, const ReportOptions& options) {
  return Report{table, options}.write();
}

}  // namespace schedlab
