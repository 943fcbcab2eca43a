// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/html_style.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/version.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/run_difference.hpp"
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t max_region_rows = 200;

double fraction(Duration part, Duration whole) {
  return whole == Duration{0} ? 0.0 : to_us(part) / to_us(whole);
}

/// The report of an explanation, section by section.
class ExplanationPage {
 public:
  explicit ExplanationPage(const Explanation& explanation)
      : all_(explanation), where_(explanation.attribution) {}

  [[nodiscard]] std::string write() {
    begin_html_page(out_, all_.run.title);
    element("h1", all_.run.title);
    element("p",
            fmt::format("{}, explained by schedlab {}: makespan {}, {}.",
                        all_.run.origin,
                        program_version(),
                        readable(where_.makespan),
                        counted(all_.run.trace.tasks.size(), "task")),
            "lead");
    element("p", who_decides(all_.metrics.critical_path) + ".", "lead");
    for (const std::string& note : all_.run.notes) element("p", note, "warning");
    html_figure(out_, explanation_picture(all_));
    element(
        "p",
        "Height of the tracks: share of each slice in which the host makes calls, or the device "
        "runs tasks. Shaded: who decides, which is where the critical path is. Beneath: what "
        "the devices do over time.",
        "note");
    write_shares();
    if (all_.what_if) write_what_if(*all_.what_if);
    if (all_.against != nullptr) write_difference(*all_.against);
    write_regions();
    end_html_page(out_);
    return std::move(out_).take();
  }

 private:
  void element(std::string_view tag, std::string_view text, std::string_view css_class = {}) {
    html_line(out_, tag, text, css_class);
  }
  void row(std::string_view cell, const std::vector<std::string>& cells, std::size_t words = 1) {
    out_ << "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) element(cell, cells[i], i < words ? "" : "n");
    out_ << "</tr>\n";
  }
  void begin(const std::vector<std::string>& names, std::size_t words = 1) {
    out_ << "<div class=\"scroll\"><table>\n";
    row("th", names, words);
  }
  void end() { out_ << "</table></div>\n"; }

  void write_difference(const RunDifference& difference) {
    element("h2", "Against " + difference.other);
    out_ << "<ul>\n";
    for (const std::string& said : difference.sentences) element("li", said);
    out_ << "</ul>\n";
  }

  template <class Word, class Times>
  void share_table(const char* title, const Times& times, Duration whole) {
    element("h2", title);
    begin({"what", "share", "time"});
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] == Duration{0}) continue;
      row("td",
          {std::string{to_string(static_cast<Word>(i))},
           readable_share(fraction(times[i], whole)),
           readable(times[i])});
    }
    end();
  }

  void write_shares() {
    share_table<PathBound>("Who decides", where_.path_bound, where_.makespan);
    share_table<DeviceBound>("What the devices do",
                             where_.bound,
                             where_.makespan * static_cast<std::int64_t>(where_.devices));
    Duration idle{0};
    for (const Duration part : where_.idle_by_cause) idle += part;
    share_table<WaitCause>("Idle time of streams, by cause", where_.idle_by_cause, idle);
    element("h2", "Critical path");
    const TraceCriticalPath& path = all_.metrics.critical_path;
    begin({"part", "share", "time"});
    const auto line = [&](const std::string& name, Duration time) {
      row("td", {name, readable_share(fraction(time, where_.makespan)), readable(time)});
    };
    line(counted(path.steps.size(), "task") + " running", path.running);
    for (std::size_t i = 0; i < path_cause_count; ++i) {
      line(fmt::format("waits: {}", to_string(static_cast<PathCause>(i))), path.waited.at(i));
    }
    line("after the last task", path.tail);
    end();
  }

  void write_what_if(const WhatIfTable& table) {
    element("h2", "What if");
    if (!table.note.empty()) {
      element("p", fmt::format("Not simulated: {}.", table.note), "warning");
      return;
    }
    element(
        "p",
        fmt::format("Simulated again, unchanged: {}, {:+.2f} % from the run. Gains refer to it.",
                    readable(table.replay),
                    100 * table.replay_error()));
    if (!table.replay_decision.empty()) {
      element("p", "Unlike the run, in the replay " + table.replay_decision + ".", "warning");
    }
    if (!table.warning.empty()) {
      element("p", "The run's own plan loses an order: " + table.warning, "warning");
    }
    begin({"change", "what", "makespan", "speed-up", "saved"}, 2);
    for (const WhatIf& change : table.changes) {
      const bool known = change.makespan && *change.makespan > Duration{0};
      row("td",
          {change.name,
           change.makespan ? change.text()
                           : fmt::format("{}: {}", change.description, change.text()),
           known ? readable(*change.makespan) : "",
           known ? fmt::format("{:.3f}", to_us(table.replay) / to_us(*change.makespan)) : "",
           known ? signed_time(table.replay - *change.makespan) : ""},
          2);
    }
    end();
    if (!table.break_even) return;
    element("p",
            fmt::format("Host and device cost meet at operators of {} (simulated; closed form {}); "
                        "this run's mean is {}.",
                        readable(table.break_even->simulated),
                        readable(table.break_even->closed_form),
                        readable(table.break_even->mean_operator)));
  }

  void write_regions() {
    if (where_.regions.empty()) return;
    element("h2", "By region");
    std::vector<std::string> names{"region", "tasks"};
    for (std::size_t i = 0; i < device_bound_count; ++i) {
      names.emplace_back(to_string(static_cast<DeviceBound>(i)));
    }
    begin(names);
    for (std::size_t i = 0; i < std::min(where_.regions.size(), max_region_rows); ++i) {
      const RegionShare& region = where_.regions[i];
      std::vector<std::string> cells{region.value < 0
                                         ? fmt::format("no {}", region.tag)
                                         : fmt::format("{} {}", region.tag, region.value),
                                     fmt::format("{}", region.tasks)};
      for (const Duration time : region.devices) cells.push_back(readable(time));
      row("td", cells);
    }
    end();
    if (where_.regions.size() > max_region_rows) {
      element("p",
              fmt::format("{} more regions are in explain.json.",
                          where_.regions.size() - max_region_rows),
              "note");
    }
  }

  const Explanation& all_;
  const Attribution& where_;
  TextBuffer out_;
};

}  // namespace

std::string explanation_html(const Explanation& explanation) {
  return ExplanationPage{explanation}.write();
}

}  // namespace schedlab
