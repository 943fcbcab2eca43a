// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/systems_report.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/html_style.hpp"
#include "sim/trace/text_buffer.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/reproduction/reproduction_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array statuses{ClaimStatus::within,
                              ClaimStatus::in_part,
                              ClaimStatus::missed,
                              ClaimStatus::not_run,
                              ClaimStatus::not_covered};

/// What both reports say first.
std::string reading() {
  return fmt::format(
      "Every number that the publications print, and what comes out of a simulation of what they "
      "describe. What a publication leaves open is an axis, so a number has as many samples as "
      "there are readings of it: simulated is their median, and least and most. within: the median "
      "meets the published number (within {:.0f} %) or range; in_part: some samples meet it or lie "
      "on both sides of it; missed: none; not_covered: it cannot be derived from what is "
      "published. "
      "predicted means that no published number went into any model.",
      100 * equal_within);
}

/// One row as a reader sees it, in plain words.
struct ReportRow {
  const Outcome* outcome;

  [[nodiscard]] std::string what() const { return outcome->claim->text; }
  [[nodiscard]] std::string at() const { return conditions_text(outcome->point->at); }
  [[nodiscard]] std::string simulated() const {
    const Spread& spread = outcome->simulated;
    if (spread.count == 0) return "";
    const std::string median = fmt::format("{:.3g}", spread.median);
    if (spread.min == spread.max) return median;
    return fmt::format("{} ({:.3g} .. {:.3g})", median, spread.min, spread.max);
  }
  [[nodiscard]] std::string error() const {
    return outcome->simulated.count > 0 && outcome->error
               ? fmt::format("{:+.0f} %", 100 * *outcome->error)
               : "";
  }
  /// What the simulated value rests on.
  [[nodiscard]] std::string evidence() const {
    return outcome->simulated.count > 0 ? outcome->claim->evidence : "";
  }
  [[nodiscard]] std::string status() const { return std::string{to_string(outcome->status)}; }
  /// Why it is not met; empty where nothing is known.
  [[nodiscard]] std::string cause() const {
    std::string text = outcome->cause;
    if (!outcome->claim->remark.empty()) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", outcome->claim->remark);
    }
    return text;
  }
};

std::vector<ReportRow> rows_with(const Reproduction& reproduction, ClaimStatus status) {
  std::vector<ReportRow> rows;
  for (const Outcome& outcome : reproduction.outcomes) {
    if (outcome.status == status) rows.push_back({&outcome});
  }
  return rows;
}

/// Statuses that some system has.
std::vector<ClaimStatus> statuses_in(const std::vector<Reproduction>& reproductions) {
  std::vector<ClaimStatus> found;
  for (const ClaimStatus status : statuses) {
    if (std::any_of(reproductions.begin(), reproductions.end(), [&](const Reproduction& each) {
          return each.count(status) > 0;
        })) {
      found.push_back(status);
    }
  }
  return found;
}

bool stopped(const std::vector<Reproduction>& reproductions) {
  return std::any_of(reproductions.begin(), reproductions.end(), [](const Reproduction& each) {
    return each.interrupted;
  });
}

// Markdown.

/// A cell of a table: what would end or break it is replaced.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '|', '/');
  return text;
}

std::string markdown_counts(const std::vector<Reproduction>& reproductions) {
  const std::vector<ClaimStatus> columns = statuses_in(reproductions);
  std::string text = "| system | numbers |";
  std::string rule = "|---|---|";
  for (const ClaimStatus status : columns) {
    text += fmt::format(" {} |", to_string(status));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const Reproduction& each : reproductions) {
    text += fmt::format("| [{0}](#{0}) {1} | {2} |",
                        each.system->name,
                        cell(each.system->title),
                        each.outcomes.size());
    for (const ClaimStatus status : columns) text += fmt::format(" {} |", each.count(status));
    text += "\n";
  }
  return text;
}

std::string markdown_reasons(const Reproduction& reproduction,
                             ClaimStatus status,
                             std::string_view heading) {
  const std::vector<ReportRow> rows = rows_with(reproduction, status);
  if (rows.empty()) return {};
  std::string text = fmt::format("\n**{}**\n\n", heading);
  for (const ReportRow& row : rows) {
    const std::string at = row.at();
    const std::string cause = row.cause();
    text += fmt::format("* `{}`{}, {}: {}\n",
                        row.outcome->claim->id,
                        at.empty() ? "" : fmt::format(" ({})", at),
                        row.outcome->point->text,
                        cause.empty() ? "cause not known." : cause);
  }
  return text;
}

std::string markdown_section(const Reproduction& reproduction) {
  const PublishedSystem& system = *reproduction.system;
  std::string text =
      fmt::format("\n## {}\n\n{}. Source: {}.\n", system.name, system.title, system.source);
  for (const std::string& note : system.notes) text += fmt::format("\n{}\n", note);
  text +=
      "\n| id | what | published | simulated | error | evidence | status |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Outcome& outcome : reproduction.outcomes) {
    const ReportRow row{&outcome};
    const std::string at = row.at();
    text += fmt::format("| `{}` | {}{} | {} | {} | {} | {} | {} |\n",
                        outcome.claim->id,
                        cell(row.what()),
                        at.empty() ? "" : cell(fmt::format(" ({})", at)),
                        cell(outcome.point->text),
                        row.simulated(),
                        row.error(),
                        cell(row.evidence()),
                        row.status());
  }
  return text + markdown_reasons(reproduction, ClaimStatus::missed, "Missed, and why") +
         markdown_reasons(reproduction, ClaimStatus::in_part, "Met in part, and what decides") +
         markdown_reasons(
             reproduction, ClaimStatus::not_covered, "Cannot be derived from what is published");
}

// HTML.

class SystemsPage {
 public:
  SystemsPage(const std::vector<Reproduction>& all, const std::string& program) : all_(all) {
    constexpr std::string_view title = "Published numbers against simulations";
    begin_html_page(out_, title);
    element("h1", title);
    element("p",
            fmt::format("Simulated by {}{}.", program, all.front().quick ? ", small grids" : ""),
            "lead");
    element("p", reading());
    if (stopped(all)) element("p", "Stopped: rows show what was finished.", "warning");
    write_counts();
    for (const Reproduction& each : all) write_section(each);
    end_html_page(out_);
  }

  [[nodiscard]] std::string take() { return std::move(out_).take(); }

 private:
  void element(std::string_view tag, std::string_view text, std::string_view css_class = {}) {
    html_line(out_, tag, text, css_class);
  }

  void write_counts() {
    const std::vector<ClaimStatus> columns = statuses_in(all_);
    out_ << "<table>\n<tr><th>system</th><th></th><th class=\"n\">numbers</th>";
    for (const ClaimStatus status : columns) html_element(out_, "th", to_string(status), "n");
    out_ << "</tr>\n";
    for (const Reproduction& each : all_) {
      out_ << "<tr><td><a href=\"#";
      out_.xml(each.system->name) << "\">";
      out_.xml(each.system->name) << "</a></td>";
      html_element(out_, "td", each.system->title);
      html_element(out_, "td", fmt::format("{}", each.outcomes.size()), "n");
      for (const ClaimStatus status : columns) {
        html_element(out_, "td", fmt::format("{}", each.count(status)), "n");
      }
      out_ << "</tr>\n";
    }
    out_ << "</table>\n";
  }

  void write_section(const Reproduction& each) {
    const PublishedSystem& system = *each.system;
    out_ << "<h2 id=\"";
    out_.xml(system.name) << "\">";
    out_.xml(fmt::format("{}: {}", system.name, system.title)) << "</h2>\n<p>Published: ";
    out_.xml(system.source) << ". <a href=\"";
    out_.xml(system.name) << "/report.html\">Row by row, with what decides each number</a>.</p>\n";
    for (const std::string& note : system.notes) element("p", note, "note");
    out_ << "<div class=\"scroll\"><table class=\"all\">\n<tr>";
    for (const char* head :
         {"what", "at", "published", "simulated", "error", "evidence", "status", "cause"}) {
      element("th", head);
    }
    out_ << "</tr>\n";
    for (const Outcome& outcome : each.outcomes) write_row({&outcome});
    out_ << "</table></div>\n<figure>\n" << numbers_picture(each) << "</figure>\n";
  }

  void write_row(const ReportRow& row) {
    const bool met = row.outcome->status == ClaimStatus::within;
    out_ << "<tr>";
    element("td", row.what());
    element("td", row.at());
    element("td", row.outcome->point->text);
    element("td", row.simulated(), "n");
    element("td", row.error(), "n");
    element("td", row.evidence());
    element(met ? "td" : "th", row.status());
    element("td", met ? std::string{} : row.cause());
    out_ << "</tr>\n";
  }

  const std::vector<Reproduction>& all_;
  TextBuffer out_;
};

}  // namespace

std::string systems_markdown(const std::vector<Reproduction>& reproductions) {
  std::string text = "# What can be reproduced, and what cannot\n\n";
  text += fmt::format("Made by `schedlab reproduce{}`; not edited by hand.\n\n",
                      reproductions.front().quick ? " --quick" : "");
  text += reading() + "\n\n";
  if (stopped(reproductions)) text += "Stopped: rows show what was finished.\n\n";
  text += markdown_counts(reproductions);
  for (const Reproduction& each : reproductions) text += markdown_section(each);
  return text;
}

std::string systems_html(const std::vector<Reproduction>& reproductions,
                         const std::string& program) {
  return SystemsPage{reproductions, program}.take();
}

std::string systems_csv(const std::vector<Reproduction>& reproductions) {
  Table all;
  for (const Reproduction& each : reproductions) {
    Table table = reproduction_table(each);
    if (all.columns.empty()) {
      all.columns = table.columns;
      all.columns.insert(all.columns.begin(), {"system", ColumnRole::metric});
    }
    for (auto& row : table.rows) {
      row.insert(row.begin(), each.system->name);
      all.rows.push_back(std::move(row));
    }
  }
  return table_csv(all);
}

}  // namespace schedlab
