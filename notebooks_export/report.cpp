// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/report.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/html_style.hpp"
#include "notebooks_export/sweep_plot.hpp"
#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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
    write_best();
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

  void write_best() {
    if (view_.cases().empty()) return;
    out_ << "\n<h2>The best policy of each case</h2>\n";
    write_wins();
    out_ << "<div class=\"scroll\"><table>\n<tr>";
    for (const std::size_t axis : view_.case_axes()) element("th", view_.name(axis));
    element("th", "best policy");
    element("th", "makespan", "n");
    element("th", "speed-up", "n");
    element("th", "what limits it");
    out_ << "</tr>\n";
    std::size_t shown = 0;
    for (const SweepCase& one : view_.cases()) {
      if (shown++ == options_.most_cases) break;
      write_best_of(one);
    }
    out_ << "</table></div>\n";
    if (view_.cases().size() > options_.most_cases) {
      element("p",
              fmt::format("The first {} of {} cases; results.csv has all.",
                          options_.most_cases,
                          view_.cases().size()),
              "note");
    }
    element("p",
            fmt::format("Speed-up: makespan of {} over makespan of the best policy, same case.",
                        view_.baseline()),
            "note");
  }

  /// One sentence: who wins how often.
  void write_wins() {
    std::map<std::size_t, std::size_t> wins;
    for (const SweepCase& one : view_.cases()) {
      if (one.best) ++wins[one.runs[*one.best].policy];
    }
    if (view_.policies().size() < 2) return;
    std::vector<std::pair<std::size_t, std::size_t>> order(wins.begin(), wins.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second > b.second;
    });
    std::string text;
    for (const auto& [policy, count] : order) {
      text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", view_.policies()[policy], count);
    }
    element("p",
            fmt::format("Shortest makespan: {} of {} case{}.",
                        text,
                        view_.cases().size(),
                        view_.cases().size() == 1 ? "" : "s"));
    out_ << '\n';
  }

  void write_best_of(const SweepCase& one) {
    const SweepRun& best = one.runs[*one.best];
    out_ << "<tr>";
    for (const Cell& value : one.values) cell(value);
    element("td", best.variant.empty() ? "(the only one)" : best.variant);
    element("td", readable(from_us(best.makespan_us)), "n");
    const auto speed_up = view_.speed_up(one, best);
    element("td", speed_up ? fmt::format("{:.3g}", *speed_up) : "", "n");
    element("td", explain_run(view_, one, best));
    out_ << "</tr>\n";
  }

  void write_table(const ReportTable& one) {
    const Table& table = one.table;
    out_ << '\n';
    element("h2", one.title);
    out_ << '\n';
    element("p", one.note);
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
