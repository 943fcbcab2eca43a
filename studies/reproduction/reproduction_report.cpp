// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/report_document.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/reproduction/reproduction_pictures.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace schedlab {
namespace {

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

/// The report of one publication, section by section.
class SystemReport {
 public:
  explicit SystemReport(const Reproduction& reproduction)
      : all_(reproduction), page_(reproduction.system->title) {}

  [[nodiscard]] ReportDocument write(const std::string& program) {
    page_.paragraph(
        fmt::format("Of {} published the simulation meets {}, {} in part, and misses {}.",
                    counted(all_.outcomes.size(), "row"),
                    all_.count(ClaimStatus::within),
                    all_.count(ClaimStatus::in_part),
                    all_.count(ClaimStatus::missed)),
        Tone::lead);
    page_.paragraph(fmt::format("Published: {}. Simulated by {}{}.",
                                all_.system->source,
                                program,
                                all_.quick ? ", small grids" : ""),
                    Tone::lead);
    if (all_.interrupted) {
      page_.paragraph("The run was stopped: rows show what was finished.", Tone::warning);
    }
    add_faults();
    page_.figure(numbers_picture(all_));
    add_reading();
    page_.heading("All rows");
    page_.table(outcomes_table(all_));
    page_.figure(ranges_picture(all_));
    if (all_.sensitivity) {
      add_sensitivity(page_,
                      all_.sensitivity->of_runs,
                      fmt::format("Of the times published, {} is furthest off among those whose "
                                  "runs are small enough to be made again; here {}. ",
                                  row_name(all_.outcomes[all_.sensitivity->outcome]),
                                  number(all_.sensitivity->value)));
    } else {
      page_.paragraph(
          "How far the numbers of the machine can be off is not said: no run behind a published "
          "time "
          "is small enough to be made again for each of them.");
    }
    page_.heading("Row by row");
    for (const Outcome& outcome : all_.outcomes) add_detail(outcome);
    add_grids();
    return std::move(page_);
  }

 private:
  void add_reading() {
    page_.paragraph(fmt::format(
        "What the publication leaves open is an axis here, so a row has many samples. within: "
        "their median meets the printed number or range (within {:.0f} %), or all do where the "
        "publication speaks of every case; in_part: some samples meet it or lie on both sides "
        "of it; missed: none. Met: share of samples that meet it. Evidence says what the "
        "simulated value rests on.",
        100 * equal_within));
    for (const std::string& note : all_.system->notes) page_.paragraph(note);
  }

  void add_faults() {
    for (const GridResult& grid : all_.grids) {
      if (grid.failed + grid.with_findings == 0) continue;
      page_.paragraph(fmt::format("Grid {}: {} of {} scenarios without a result, {} plans with "
                                  "findings ({}).",
                                  grid.name,
                                  grid.failed,
                                  grid.scenarios,
                                  grid.with_findings,
                                  grid.first_note),
                      Tone::warning);
    }
  }

  void add_detail(const Outcome& outcome) {
    const Claim& claim = *outcome.claim;
    page_.heading(row_name(outcome), 3);
    page_.paragraph(
        fmt::format("{} ({}; {}){}",
                    claim.text,
                    claim.where,
                    outcome.point->text,
                    claim.open.empty() ? "" : fmt::format(". Left open: {}", claim.open)));
    if (!outcome.point->reading.empty()) {
      page_.paragraph(fmt::format("How it is read: {}", outcome.point->reading), Tone::note);
    }
    if (outcome.simulated.count > 0) {
      page_.paragraph(
          fmt::format("{}: median {} over {} samples, middle half {} to {}, {} of them meet it.",
                      to_string(outcome.status),
                      number(outcome.simulated.median),
                      outcome.simulated.count,
                      number(outcome.simulated.lower_quartile),
                      number(outcome.simulated.upper_quartile),
                      percent(outcome.share_met)));
    }
    if (!outcome.point->basis.empty()) {
      page_.paragraph(fmt::format("Rests on: {}", outcome.point->basis));
    }
    if (outcome.status == ClaimStatus::missed || !outcome.point->why.empty()) {
      page_.paragraph(fmt::format("Why: {}", why_text(outcome)));
    }
    for (const std::string* text : {&outcome.statistics, &claim.no_answer, &claim.remark}) {
      page_.paragraph(*text);
    }
    add_effects(outcome);
    const Table* table = grid_table(all_, claim.grid);
    const auto map = table == nullptr ? std::nullopt : sample_map(outcome, *table);
    if (map) page_.figure(*map);
  }

  void add_effects(const Outcome& outcome) {
    if (outcome.effects.empty()) return;
    PrintedTable table = empty_table({"open axis", "median (share met) by value"}, 2);
    table.small_print = true;
    for (const AxisEffect& effect : outcome.effects) {
      std::string words;
      for (const AxisEffect::At& at : effect.values) {
        words += fmt::format("{}{}: {} ({})",
                             words.empty() ? "" : ";  ",
                             to_string(at.value),
                             number(at.median),
                             percent(at.share_met));
      }
      table.rows.push_back({effect.axis, words});
    }
    page_.table(std::move(table));
  }

  void add_grids() {
    page_.heading("What was simulated");
    for (const GridResult& grid : all_.grids) {
      for (const SystemGrid& source : all_.system->grids) {
        if (source.name != grid.name) continue;
        page_.heading(grid.name, 3);
        page_.paragraph(fmt::format("{} {} of {} scenarios; rows in grids/{}.",
                                    source.about,
                                    grid.done,
                                    grid.scenarios,
                                    grid.name));
        page_.code(all_.quick ? source.quick_spec : source.spec);
      }
    }
  }

  const Reproduction& all_;
  ReportDocument page_;
};

}  // namespace

std::string reproduction_html(const Reproduction& reproduction, const std::string& program) {
  return html_of(SystemReport{reproduction}.write(program));
}

}  // namespace schedlab
