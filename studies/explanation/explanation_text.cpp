// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "studies/base/printable.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/run_difference.hpp"
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

double part_of(Duration part, Duration whole) {
  return whole == Duration{0} ? 0.0 : 100 * to_us(part) / to_us(whole);
}

/// "  word  12.3 %  1.234 ms", words that took no time left out.
template <class Word, class Times>
std::string share_lines(const char* title, const Times& times, Duration whole) {
  std::string text = fmt::format("{}\n", title);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == Duration{0}) continue;
    text += fmt::format("  {:<18} {:6.1f} %  {:>12}\n",
                        to_string(static_cast<Word>(i)),
                        part_of(times[i], whole),
                        readable(times[i]));
  }
  return text;
}

std::string path_lines(const Explanation& explanation) {
  const TraceCriticalPath& path = explanation.metrics.critical_path;
  const Duration whole = explanation.attribution.makespan;
  std::string text = fmt::format("critical path, {}\n", counted(path.steps.size(), "task"));
  const auto line = [&](std::string_view name, Duration time) {
    if (time == Duration{0}) return;
    text += fmt::format("  {:<25} {:6.1f} %  {:>12}\n", name, part_of(time, whole), readable(time));
  };
  line("running", path.running);
  for (std::size_t i = 0; i < path_cause_count; ++i) {
    line(fmt::format("waits: {}", to_string(static_cast<PathCause>(i))), path.waited.at(i));
  }
  line("after the last task", path.tail);
  return text;
}

std::string change_line(const WhatIfTable& table, const WhatIf& change) {
  if (!change.makespan) return fmt::format("  {:<20} -  {}\n", change.name, change.note);
  return fmt::format(
      "  {:<20} {:>12} {:>7.3f}x {:>12}  {}\n",
      change.name,
      readable(*change.makespan),
      *change.makespan == Duration{0} ? 0.0 : to_us(table.replay) / to_us(*change.makespan),
      signed_time(table.replay - *change.makespan),
      change.text());
}

std::string what_if_lines(const WhatIfTable& table) {
  if (!table.note.empty()) return fmt::format("what if: not simulated: {}\n", table.note);
  std::string text = fmt::format("what if (replay {}, {:+.2f} % from the run)\n",
                                 readable(table.replay),
                                 100 * table.replay_error());
  if (!table.replay_decision.empty()) {
    text += fmt::format("  unlike the run, in the replay {}\n", table.replay_decision);
  }
  if (!table.warning.empty())
    text += fmt::format("  the run's own plan loses an order: {}\n", table.warning);
  for (const WhatIf& change : table.changes) text += change_line(table, change);
  if (table.break_even) {
    text += fmt::format(
        "break-even operator size: {} simulated, {} by the closed form; this run's mean is {}\n",
        readable(table.break_even->simulated),
        readable(table.break_even->closed_form),
        readable(table.break_even->mean_operator));
  }
  return text;
}

}  // namespace

std::string signed_time(Duration time) {
  return time < Duration{0} ? "-" + readable(-time) : readable(time);
}

std::string explanation_text(const Explanation& explanation) {
  const Attribution& where = explanation.attribution;
  Duration idle{0};
  for (const Duration part : where.idle_by_cause) idle += part;
  std::string text = fmt::format("{} ({})\nmakespan {}, {}\n{}\n",
                                 explanation.run.title,
                                 explanation.run.origin,
                                 readable(where.makespan),
                                 counted(explanation.run.trace.tasks.size(), "task"),
                                 who_decides(explanation.metrics.critical_path));
  for (const std::string& note : explanation.run.notes) text += fmt::format("note: {}\n", note);
  text += share_lines<PathBound>("who decides", where.path_bound, where.makespan);
  text += share_lines<DeviceBound>(
      where.devices == 1 ? "what the device does" : "what the devices do, on average",
      where.bound,
      where.makespan * static_cast<std::int64_t>(where.devices));
  text += path_lines(explanation);
  text += share_lines<WaitCause>("idle time of streams, by cause", where.idle_by_cause, idle);
  if (explanation.what_if) text += what_if_lines(*explanation.what_if);
  if (explanation.against != nullptr) {
    text += fmt::format("against {}\n", explanation.against->other);
    for (const std::string& said : explanation.against->sentences) text += "  " + said + '\n';
  }
  return text;
}

}  // namespace schedlab
