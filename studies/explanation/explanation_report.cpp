// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/report_document.hpp"
#include "sim/plan/partitions.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/version.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/run_difference.hpp"
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t max_region_rows = 200;

/// The report of an explanation, section by section.
class ExplanationReport {
 public:
  explicit ExplanationReport(const Explanation& explanation)
      : all_(explanation), where_(explanation.attribution), page_(explanation.run.title) {}

  /// `whole`: with picture and regions, for a page.
  [[nodiscard]] ReportDocument write(bool whole) {
    for (const std::string& said : {all_.run.loss.lost, all_.run.loss.assumed}) {
      if (!said.empty()) page_.paragraph(said + ".", Tone::warning);
    }
    page_.paragraph(fmt::format("{}, explained by schedlab {}: makespan {}, {}.",
                                all_.run.origin,
                                program_version(),
                                readable(where_.makespan),
                                counted(all_.run.trace.tasks.size(), "task")),
                    Tone::lead);
    page_.paragraph(who_decides(all_.metrics.critical_path) + all_.run.loss.mark() + ".",
                    Tone::lead);
    for (const std::string& note : all_.run.notes) page_.paragraph(note, Tone::warning);
    if (whole) add_picture();
    add_shares();
    add_unit_parts();
    if (all_.what_if) add_what_if(*all_.what_if);
    if (all_.sensitivity) add_sensitivity(page_, *all_.sensitivity, {});
    if (all_.against != nullptr) {
      page_.heading("Against " + all_.against->other);
      page_.list(all_.against->sentences);
    }
    if (whole) add_regions();
    return std::move(page_);
  }

 private:
  void add_picture() {
    page_.figure(explanation_picture(all_));
    page_.paragraph(
        "Height of the tracks: share of each slice in which the host makes calls, or the device "
        "runs tasks. Shaded: who decides, which is where the critical path is. Beneath: what "
        "the devices do over time.",
        Tone::note);
  }

  /// A row with name, share and time, unless it took no time.
  static void add_share(PrintedTable& table, std::string name, Duration time, Duration whole) {
    if (time == Duration{0}) return;
    const double share = whole == Duration{0} ? 0.0 : to_us(time) / to_us(whole);
    table.rows.push_back({std::move(name), fmt::format("{:.1f} %", 100 * share), readable(time)});
  }

  template <class Word, class Times>
  void add_share_table(const std::string& title, const Times& times, Duration whole) {
    PrintedTable table = empty_table({"what", "share", "time"});
    for (std::size_t i = 0; i < times.size(); ++i) {
      add_share(table, std::string{to_string(static_cast<Word>(i))}, times[i], whole);
    }
    if (table.rows.empty()) return;
    page_.heading(title + all_.run.loss.mark());
    page_.table(std::move(table));
  }

  void add_shares() {
    add_share_table<PathBound>("Who decides", where_.path_bound, where_.makespan);
    add_share_table<DeviceBound>(
        where_.devices == 1 ? "What the device does" : "What the devices do, on average",
        where_.bound,
        where_.makespan * static_cast<std::int64_t>(where_.devices));
    Duration idle{0};
    for (const Duration part : where_.idle_by_cause) idle += part;
    add_share_table<WaitCause>("Idle time of streams, by cause", where_.idle_by_cause, idle);
    page_.heading("Critical path" + all_.run.loss.mark());
    const TraceCriticalPath& path = all_.metrics.critical_path;
    PrintedTable table = empty_table({"part", "share", "time"});
    add_share(
        table, counted(path.steps.size(), "task") + " running", path.running, where_.makespan);
    for (std::size_t i = 0; i < path_cause_count; ++i) {
      add_share(table,
                fmt::format("waits: {}", to_string(static_cast<PathCause>(i))),
                path.waited.at(i),
                where_.makespan);
    }
    add_share(table, "after the last task", path.tail, where_.makespan);
    page_.table(std::move(table));
  }

  /// Of a plan that divides the units: who is bound to which, and how busy they are.
  void add_unit_parts() {
    const IdVector<StreamId, UnitPart> parts = unit_parts(all_.run.platform, all_.run.plan);
    if (parts.empty()) return;
    page_.heading("Unit partitions");
    PrintedTable table = empty_table({"stream", "units", "share", "tasks", "busy"});
    for (const StreamUse& use : all_.metrics.stream_use) {
      const UnitPart& part = parts[use.stream];
      const double busy =
          where_.makespan == Duration{0} ? 0.0 : to_us(use.busy) / to_us(where_.makespan);
      table.rows.push_back({all_.run.plan.stream_name(use.stream),
                            part.text(),
                            fmt::format("{:.0f} %", 100.0 * part.units / part.whole),
                            fmt::format("{}", use.tasks),
                            fmt::format("{:.1f} %", 100 * busy)});
    }
    table.columns[1].is_number = false;
    page_.table(std::move(table));
    if (all_.what_if) return;
    page_.paragraph("What the division costs: --what-if, undivided_units.", Tone::note);
  }

  void add_what_if(const WhatIfTable& what_if) {
    page_.heading("What if");
    if (!what_if.note.empty()) {
      page_.paragraph(fmt::format("Not simulated: {}.", what_if.note), Tone::warning);
      return;
    }
    page_.paragraph(
        fmt::format("Simulated again, unchanged: {}, {:+.2f} % from the run. Gains refer to it.",
                    readable(what_if.replay),
                    100 * what_if.replay_error()));
    if (!what_if.replay_decision.empty()) {
      page_.paragraph("Unlike the run, in the replay " + what_if.replay_decision + ".",
                      Tone::warning);
    }
    if (!what_if.warning.empty()) {
      page_.paragraph("The run's own plan loses an order: " + what_if.warning, Tone::warning);
    }
    PrintedTable table = empty_table({"change", "makespan", "speed-up", "saved", "what"});
    table.columns.back().is_number = false;
    for (const WhatIf& change : what_if.changes) {
      const bool known = change.makespan && *change.makespan > Duration{0};
      table.rows.push_back(
          {change.name,
           known ? readable(*change.makespan) : "-",
           known ? fmt::format("{:.3f}", to_us(what_if.replay) / to_us(*change.makespan)) : "",
           known ? signed_time(what_if.replay - *change.makespan) : "",
           change.makespan ? change.text()
                           : fmt::format("{}: {}", change.description, change.text())});
    }
    page_.table(std::move(table));
    if (!what_if.break_even) return;
    page_.paragraph(
        fmt::format("Host and device cost meet at operators of {} (simulated; closed form {}); "
                    "this run's mean is {}.",
                    readable(what_if.break_even->simulated),
                    readable(what_if.break_even->closed_form),
                    readable(what_if.break_even->mean_operator)));
  }

  void add_regions() {
    if (where_.regions.empty()) return;
    page_.heading("By region" + all_.run.loss.mark());
    std::vector<std::string> names{"region", "tasks"};
    for (std::size_t i = 0; i < device_bound_count; ++i) {
      names.emplace_back(to_string(static_cast<DeviceBound>(i)));
    }
    PrintedTable table = empty_table(names);
    for (std::size_t i = 0; i < std::min(where_.regions.size(), max_region_rows); ++i) {
      const RegionShare& region = where_.regions[i];
      auto& cells = table.rows.emplace_back();
      cells.push_back(region.value < 0 ? fmt::format("no {}", region.tag)
                                       : fmt::format("{} {}", region.tag, region.value));
      cells.push_back(fmt::format("{}", region.tasks));
      for (const Duration time : region.devices) cells.push_back(readable(time));
    }
    page_.table(std::move(table));
    if (where_.regions.size() <= max_region_rows) return;
    page_.paragraph(fmt::format("{} more regions are in explain.json.",
                                where_.regions.size() - max_region_rows),
                    Tone::note);
  }

  const Explanation& all_;
  const Attribution& where_;
  ReportDocument page_;
};

}  // namespace

std::string signed_time(Duration time) {
  return time < Duration{0} ? "-" + readable(-time) : readable(time);
}

std::string explanation_text(const Explanation& explanation) {
  return text_of(ExplanationReport{explanation}.write(false));
}

std::string explanation_html(const Explanation& explanation) {
  return html_of(ExplanationReport{explanation}.write(true));
}

}  // namespace schedlab
