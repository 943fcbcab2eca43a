// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/systems_report.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/html_style.hpp"
#include "sim/trace/text_buffer.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/reproduction/reproduction_pictures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

/// What both reports say first.
std::string reading() {
  return fmt::format(
      "Numbers, ranges, orders and tendencies that the publications print, and what comes out of a "
      "simulation of what they describe. What is open and swept is an axis, so a number has as "
      "many samples as there are readings of it: simulated is their median, and least and most. "
      "within: the median meets the printed number or range (within {:.0f} %); where the "
      "publication speaks of every case, all samples do. in_part: some samples meet it or lie on "
      "both sides of it; missed: none; not_covered: nothing is simulated. Error: of the median, or "
      "of the worst sample where all are judged, from what is printed. Met: share of the samples "
      "that meet it.",
      100 * equal_within);
}

/// What the words of the column evidence mean.
constexpr std::string_view evidence_reading =
    "Evidence, each row the last that applies: predicted: nothing published of this system went "
    "into any model; derived: likewise, but the published side is worked out from printed numbers; "
    "predicted_from_fit: other numbers of the publication were fitted; reading_chosen: a reading "
    "that was chosen after the number was known; fitted: on this number; by_construction: what the "
    "model or the publication's own tables say anyway.";

/// One row as a reader sees it, in plain words.
struct ReportRow {
  const Outcome* outcome;

  [[nodiscard]] std::string what() const { return outcome->claim->text; }
  [[nodiscard]] std::string at() const { return conditions_text(*outcome->point); }
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
    if (outcome->simulated.count == 0) return "";
    const std::string& basis = outcome->point->basis;
    return fmt::format(
        "{}{}{}", to_string(outcome->point->evidence), basis.empty() ? "" : ": ", basis);
  }
  [[nodiscard]] std::string met() const { return met_text(*outcome); }
  [[nodiscard]] std::string status() const {
    const std::string& other = outcome->point->repeats;
    return fmt::format(
        "{}{}", to_string(outcome->status), other.empty() ? "" : fmt::format(" (as {})", other));
  }
  /// Why it is not met, what else there is to say of it, and what moves it.
  [[nodiscard]] std::string explanation() const {
    const Claim& claim = *outcome->claim;
    if (outcome->status == ClaimStatus::not_covered) return claim.no_answer;
    std::string text;
    const auto add = [&](const std::string& part) {
      if (!part.empty()) text += (text.empty() ? "" : " ") + part;
    };
    const bool missed = outcome->status == ClaimStatus::missed;
    add(missed ? why_text(*outcome) : outcome->point->why);
    add(claim.remark);
    add(outcome->statistics);
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

constexpr std::string_view counts_reading =
    "Counts: met / in part / missed, each published number once, in the class of its strongest "
    "row; rows that end in (as ...) repeat a number under other assumptions.";

using Shown = std::vector<const Reproduction*>;

Shown pointers(const std::vector<Reproduction>& reproductions) {
  Shown all;
  for (const Reproduction& each : reproductions) all.push_back(&each);
  return all;
}

std::size_t numbers_of(const Shown& shown, Evidence evidence, ClaimStatus status) {
  std::size_t sum = 0;
  for (const Reproduction* each : shown) sum += each->count(evidence, status);
  return sum;
}

/// Classes that some number has.
std::vector<Evidence> classes_in(const std::vector<Reproduction>& reproductions) {
  std::vector<Evidence> found;
  for (const std::string& word : enum_names<Evidence>()) {
    const auto evidence = enum_value<Evidence>(word);
    const bool there =
        std::any_of(judged_statuses.begin(), judged_statuses.end(), [&](ClaimStatus status) {
          return numbers_of(pointers(reproductions), evidence, status) > 0;
        });
    if (there) found.push_back(evidence);
  }
  return found;
}

std::vector<std::string> count_heads(const std::vector<Reproduction>& reproductions) {
  std::vector<std::string> heads;
  for (const Evidence evidence : classes_in(reproductions)) {
    heads.emplace_back(to_string(evidence));
  }
  heads.insert(heads.end(), {"not simulated", "rows"});
  return heads;
}

/// A row of counts over the systems shown, below the heads of all.
std::vector<std::string> count_cells(const std::vector<Reproduction>& reproductions,
                                     const Shown& shown) {
  std::vector<std::string> cells;
  for (const Evidence evidence : classes_in(reproductions)) {
    std::vector<std::size_t> counts;
    for (const ClaimStatus status : judged_statuses) {
      counts.push_back(numbers_of(shown, evidence, status));
    }
    const bool none = std::all_of(counts.begin(), counts.end(), [](auto n) { return n == 0; });
    cells.push_back(none ? "" : fmt::format("{}", fmt::join(counts, " / ")));
  }
  std::size_t absent = 0;
  std::size_t rows = 0;
  for (const Reproduction* each : shown) {
    absent += each->count(ClaimStatus::not_covered) + each->count(ClaimStatus::not_run);
    rows += each->outcomes.size();
  }
  cells.push_back(fmt::format("{}", absent));
  cells.push_back(fmt::format("{}", rows));
  return cells;
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
  std::string text = "| |";
  std::string rule = "\n|---|";
  for (const std::string& word : count_heads(reproductions)) {
    text += fmt::format(" {} |", word);
    rule += "---|";
  }
  text += rule + "\n";
  for (const Reproduction& each : reproductions) {
    text += fmt::format("| [{0}](#{0}) {1} |", each.system->name, cell(each.system->title));
    for (const std::string& word : count_cells(reproductions, {&each})) {
      text += fmt::format(" {} |", word);
    }
    text += "\n";
  }
  text += "| all |";
  for (const std::string& word : count_cells(reproductions, pointers(reproductions))) {
    text += fmt::format(" {} |", word);
  }
  return text + "\n";
}

std::string markdown_reasons(const Reproduction& reproduction,
                             ClaimStatus status,
                             std::string_view heading) {
  const std::vector<ReportRow> rows = rows_with(reproduction, status);
  if (rows.empty()) return {};
  std::string text = fmt::format("\n**{}**\n\n", heading);
  for (const ReportRow& row : rows) {
    const std::string at = row.at();
    text += fmt::format("* `{}`{}, {}: {}\n",
                        row.outcome->claim->id,
                        at.empty() ? "" : fmt::format(" ({})", at),
                        row.outcome->point->text,
                        row.explanation());
  }
  return text;
}

std::string markdown_section(const Reproduction& reproduction) {
  const PublishedSystem& system = *reproduction.system;
  std::string text =
      fmt::format("\n## {}\n\n{}. Source: {}.\n", system.name, system.title, system.source);
  for (const std::string& note : system.notes) text += fmt::format("\n{}\n", note);
  text +=
      "\n| id | what | published | simulated | error | met | evidence | status |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const Outcome& outcome : reproduction.outcomes) {
    const ReportRow row{&outcome};
    const std::string at = row.at();
    text += fmt::format("| `{}` | {}{} | {} | {} | {} | {} | {} | {} |\n",
                        outcome.claim->id,
                        cell(row.what()),
                        at.empty() ? "" : cell(fmt::format(" ({})", at)),
                        cell(outcome.point->text),
                        row.simulated(),
                        row.error(),
                        row.met(),
                        cell(row.evidence()),
                        row.status());
  }
  return text + markdown_reasons(reproduction, ClaimStatus::missed, "Missed, and why") +
         markdown_reasons(reproduction, ClaimStatus::in_part, "Met in part, and what moves it") +
         markdown_reasons(reproduction, ClaimStatus::not_covered, "Not simulated, and why");
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
    element("p", evidence_reading);
    element("p", counts_reading);
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
    out_ << "<table>\n<tr><th>system</th><th></th>";
    for (const std::string& word : count_heads(all_)) html_element(out_, "th", word, "n");
    out_ << "</tr>\n";
    for (const Reproduction& each : all_) {
      out_ << "<tr><td><a href=\"#";
      out_.xml(each.system->name) << "\">";
      out_.xml(each.system->name) << "</a></td>";
      html_element(out_, "td", each.system->title);
      for (const std::string& word : count_cells(all_, {&each})) {
        html_element(out_, "td", word, "n");
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
         {"what", "at", "published", "simulated", "error", "met", "evidence", "status", "why"}) {
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
    element("td", row.met(), "n");
    element("td", row.evidence());
    element(met ? "td" : "th", row.status());
    element("td", met ? std::string{} : row.explanation());
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
  text += fmt::format("{}\n\n{}\n\n", reading(), evidence_reading);
  if (stopped(reproductions)) text += "Stopped: rows show what was finished.\n\n";
  text += markdown_counts(reproductions);
  text += fmt::format("\n{}\n", counts_reading);
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
