// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/systems_report.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/report_document.hpp"
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
    "into any model; measured: run for real, not simulated; derived: as predicted, but the "
    "published "
    "side is worked out from printed numbers; "
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

/// The report of several systems, section by section.
class SystemsReport {
 public:
  explicit SystemsReport(const std::vector<Reproduction>& all) : all_(all) {}

  [[nodiscard]] ReportDocument write(const std::string& made_by) {
    page_.paragraph(made_by, Tone::lead);
    page_.paragraph(reading());
    page_.paragraph(std::string{evidence_reading});
    page_.paragraph(std::string{counts_reading});
    if (stopped(all_)) page_.paragraph("Stopped: rows show what was finished.", Tone::warning);
    add_counts();
    for (const Reproduction& each : all_) add_section(each);
    return std::move(page_);
  }

 private:
  void add_counts() {
    std::vector<std::string> names = count_heads(all_);
    names.insert(names.begin(), {"system", "title"});
    PrintedTable table = empty_table(names, 2);
    const auto add = [&](std::string name, std::string title, const Shown& shown) {
      auto& cells = table.rows.emplace_back(count_cells(all_, shown));
      cells.insert(cells.begin(), {std::move(name), std::move(title)});
    };
    for (const Reproduction& each : all_) {
      add(each.system->name, each.system->title, {&each});
      table.targets.push_back("#" + each.system->name);
    }
    add("all", "", pointers(all_));
    page_.table(std::move(table));
  }

  void add_section(const Reproduction& each) {
    const PublishedSystem& system = *each.system;
    page_.heading(system.name, 2, system.name);
    page_.paragraph(fmt::format("{}. Source: {}.", system.title, system.source));
    for (const std::string& note : system.notes) page_.paragraph(note, Tone::note);
    page_.figure(numbers_picture(each));
    PrintedTable table = empty_table(
        {"id", "what", "published", "simulated", "error", "met", "evidence", "status"}, 8);
    for (std::size_t number : {3U, 4U, 5U}) table.columns[number].is_number = true;
    table.small_print = true;
    for (const Outcome& outcome : each.outcomes) {
      const ReportRow row{&outcome};
      const std::string at = row.at();
      table.rows.push_back({outcome.claim->id,
                            at.empty() ? row.what() : fmt::format("{} ({})", row.what(), at),
                            outcome.point->text,
                            row.simulated(),
                            row.error(),
                            row.met(),
                            row.evidence(),
                            row.status()});
    }
    page_.table(std::move(table));
    add_reasons(each, ClaimStatus::missed, "Missed, and why");
    add_reasons(each, ClaimStatus::in_part, "Met in part, and what moves it");
    add_reasons(each, ClaimStatus::not_covered, "Not simulated, and why");
  }

  void add_reasons(const Reproduction& each, ClaimStatus status, const char* heading) {
    std::vector<std::string> reasons;
    for (const ReportRow& row : rows_with(each, status)) {
      const std::string at = row.at();
      reasons.push_back(fmt::format("{}{}, {}: {}",
                                    row.outcome->claim->id,
                                    at.empty() ? "" : fmt::format(" ({})", at),
                                    row.outcome->point->text,
                                    row.explanation()));
    }
    if (reasons.empty()) return;
    page_.heading(heading, 3);
    page_.list(std::move(reasons));
  }

  const std::vector<Reproduction>& all_;
  ReportDocument page_{"What can be reproduced, and what cannot"};
};

}  // namespace

std::string systems_markdown(const std::vector<Reproduction>& reproductions) {
  return markdown_of(SystemsReport{reproductions}.write(
      fmt::format("Made by `schedlab reproduce{}`; not edited by hand.",
                  reproductions.front().quick ? " --quick" : "")));
}

std::string systems_html(const std::vector<Reproduction>& reproductions,
                         const std::string& program) {
  return html_of(SystemsReport{reproductions}.write(fmt::format(
      "Simulated by {}{}. Each system has a page of its own, row by row, with what decides each "
      "number: NAME/report.html.",
      program,
      reproductions.front().quick ? ", small grids" : "")));
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
