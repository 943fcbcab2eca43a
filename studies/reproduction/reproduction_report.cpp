// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/html_style.hpp"
#include "sim/trace/text_buffer.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/reproduction/reproduction_pictures.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

class Report {
 public:
  Report(const Reproduction& reproduction, const std::string& program)
      : all_(reproduction), program_(program) {}

  [[nodiscard]] std::string write() {
    const PublishedSystem& system = *all_.system;
    begin_html_page(out_, system.title);
    element("h1", system.title);
    element("p",
            fmt::format("Published: {}. Simulated by {}{}.",
                        system.source,
                        program_,
                        all_.quick ? ", small grids" : ""),
            "lead");
    write_reading();
    if (all_.interrupted) {
      element("p", "The run was stopped: rows show what was finished.", "warning");
    }
    write_faults();
    out_ << "<h2>All rows</h2>\n<div class=\"scroll\"><table>\n<tr>";
    for (const char* head : {"claim",
                             "published",
                             "simulated",
                             "least .. most",
                             "error",
                             "met",
                             "evidence",
                             "status"}) {
      element("th", head);
    }
    out_ << "</tr>\n";
    for (const Outcome& outcome : all_.outcomes) write_row(outcome);
    out_ << "</table></div>\n<figure>\n"
         << numbers_picture(all_) << "</figure>\n<figure>\n"
         << ranges_picture(all_) << "</figure>\n<h2>Row by row</h2>\n";
    for (const Outcome& outcome : all_.outcomes) write_detail(outcome);
    write_grids();
    end_html_page(out_);
    return std::move(out_).take();
  }

 private:
  void element(std::string_view tag, std::string_view text, std::string_view css_class = {}) {
    html_line(out_, tag, text, css_class);
  }

  void write_reading() {
    element(
        "p",
        fmt::format(
            "What the publication leaves open is an axis here, so a row has many samples. within: "
            "their median meets the printed number or range (within {:.0f} %), or all do where the "
            "publication speaks of every case; in_part: some samples meet it or lie on both sides "
            "of it; missed: none. Met: share of samples that meet it. Evidence says what the "
            "simulated value rests on.",
            100 * equal_within));
    for (const std::string& note : all_.system->notes) element("p", note);
  }

  void write_faults() {
    for (const GridResult& grid : all_.grids) {
      if (grid.failed + grid.with_findings == 0) continue;
      element("p",
              fmt::format("Grid {}: {} of {} scenarios without a result, {} plans with findings "
                          "({}).",
                          grid.name,
                          grid.failed,
                          grid.scenarios,
                          grid.with_findings,
                          grid.first_note),
              "warning");
    }
  }

  void write_row(const Outcome& outcome) {
    const Spread& spread = outcome.simulated;
    const bool ran = spread.count > 0;
    out_ << "<tr>";
    element("td", row_name(outcome));
    element("td", outcome.point->text);
    element("td", ran ? number(spread.median) : "", "n");
    element("td", ran ? fmt::format("{} .. {}", number(spread.min), number(spread.max)) : "", "n");
    element("td", ran && outcome.error ? fmt::format("{:+.1f} %", 100 * *outcome.error) : "", "n");
    element("td", met_text(outcome), "n");
    element("td", to_string(outcome.point->evidence));
    element("td", to_string(outcome.status));
    out_ << "</tr>\n";
  }

  void write_detail(const Outcome& outcome) {
    const Claim& claim = *outcome.claim;
    element("h3", row_name(outcome));
    element("p",
            fmt::format("{} ({}; {}){}",
                        claim.text,
                        claim.where,
                        outcome.point->text,
                        claim.open.empty() ? "" : fmt::format(". Left open: {}", claim.open)));
    if (!outcome.point->reading.empty()) {
      element("p", fmt::format("How it is read: {}", outcome.point->reading), "note");
    }
    if (outcome.simulated.count > 0) {
      element(
          "p",
          fmt::format("{}: median {} over {} samples, middle half {} to {}, {} of them meet it.",
                      to_string(outcome.status),
                      number(outcome.simulated.median),
                      outcome.simulated.count,
                      number(outcome.simulated.lower_quartile),
                      number(outcome.simulated.upper_quartile),
                      percent(outcome.share_met)));
    }
    if (!outcome.point->basis.empty()) {
      element("p", fmt::format("Rests on: {}", outcome.point->basis));
    }
    if (outcome.status == ClaimStatus::missed || !outcome.point->why.empty()) {
      element("p", fmt::format("Why: {}", why_text(outcome)));
    }
    for (const std::string* text : {&outcome.statistics, &claim.no_answer, &claim.remark}) {
      if (!text->empty()) element("p", *text);
    }
    write_effects(outcome);
    const Table* table = grid_table(all_, claim.grid);
    const auto map = table == nullptr ? std::nullopt : sample_map(outcome, *table);
    if (map) out_ << "<figure>\n" << *map << "</figure>\n";
  }

  void write_effects(const Outcome& outcome) {
    if (outcome.effects.empty()) return;
    out_ << "<table class=\"all\">\n<tr>";
    for (const char* head : {"open axis", "median (share met) by value"}) element("th", head);
    out_ << "</tr>\n";
    for (const AxisEffect& effect : outcome.effects) {
      std::string words;
      for (const AxisEffect::At& at : effect.values) {
        words += fmt::format("{}{}: {} ({})",
                             words.empty() ? "" : ";  ",
                             to_string(at.value),
                             number(at.median),
                             percent(at.share_met));
      }
      out_ << "<tr>";
      element("td", effect.axis);
      element("td", words);
      out_ << "</tr>\n";
    }
    out_ << "</table>\n";
  }

  void write_grids() {
    out_ << "<h2>What was simulated</h2>\n";
    for (const GridResult& grid : all_.grids) {
      for (const SystemGrid& source : all_.system->grids) {
        if (source.name != grid.name) continue;
        element("h3", grid.name);
        element("p",
                fmt::format("{} {} of {} scenarios; rows in grids/{}.",
                            source.about,
                            grid.done,
                            grid.scenarios,
                            grid.name));
        element("pre", all_.quick ? source.quick_spec : source.spec);
      }
    }
  }

  const Reproduction& all_;
  const std::string& program_;
  TextBuffer out_;
};

}  // namespace

std::string reproduction_html(const Reproduction& reproduction, const std::string& program) {
  return Report{reproduction, program}.write();
}

}  // namespace schedlab
