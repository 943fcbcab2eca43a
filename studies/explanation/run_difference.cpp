// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/run_difference.hpp"

#include "notebooks_export/axis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr double telling_share = 0.005;  // of the makespan: what a sentence is made of
constexpr std::size_t most_shifts = 4;   // in the sentence

constexpr std::array<std::string_view, 6> class_names{"unclassified",
                                                      "critical matrix work",
                                                      "critical point-wise work",
                                                      "weight gradients",
                                                      "updates",
                                                      "transfers"};

bool same_tasks(const TaskGraph& a, const TaskGraph& b) {
  const auto tasks = a.tasks();
  return a.task_count() == b.task_count() &&
         std::all_of(
             tasks.begin(), tasks.end(), [&](TaskId task) { return a.name(task) == b.name(task); });
}

/// Of each task its span and the task before it in its stream.
struct Places {
  IdVector<TaskId, const TaskSpan*> span;
  IdVector<TaskId, TaskId> before;

  explicit Places(const ExplainedRun& run)
      : span(run.graph.task_count(), nullptr), before(run.graph.task_count()) {
    std::vector<const TaskSpan*> by_start;
    for (const TaskSpan& each : run.trace.tasks) by_start.push_back(&each);
    std::stable_sort(by_start.begin(), by_start.end(), [](const TaskSpan* a, const TaskSpan* b) {
      return a->started < b->started;
    });
    std::map<StreamId, TaskId> last;
    for (const TaskSpan* each : by_start) {
      span[each->task] = each;
      before[each->task] = std::exchange(last[each->stream], each->task);
    }
  }
};

std::string group_of(const TaskGraph& graph, TaskId task) {
  const Operation& operation = graph.operation(task);
  if (operation.task_class == TaskClass::unclassified) {
    return fmt::format("{} tasks", to_string(operation.kind));
  }
  return std::string{class_names.at(static_cast<std::size_t>(operation.task_class))};
}

/// When so much of the work is done, each task at its end.
Time done_at(const ExplainedRun& run, const IdVector<TaskId, Duration>& work, double share) {
  std::vector<std::pair<Time, Duration>> ends;
  Duration all{0};
  for (const TaskSpan& span : run.trace.tasks) {
    ends.emplace_back(span.ended, work[span.task]);
    all += work[span.task];
  }
  std::sort(ends.begin(), ends.end());
  Duration done{0};
  for (const auto& [end, part] : ends) {
    done += part;
    if (to_us(done) >= share * to_us(all)) return end;
  }
  return Time{};
}

TaskDifference task_difference(const ExplainedRun& run, const ExplainedRun& other) {
  const Places here{run};
  const Places there{other};
  TaskDifference difference;
  std::map<std::string, std::pair<std::uint32_t, Duration>> groups;
  IdVector<TaskId, Duration> work(run.graph.task_count(), Duration{0});
  for (const TaskId task : run.graph.tasks()) {
    if (here.span[task] == nullptr || there.span[task] == nullptr) continue;
    ++difference.tasks;
    if (here.before[task] != there.before[task]) ++difference.other_before;
    auto& [count, later] = groups[group_of(run.graph, task)];
    ++count;
    later += here.span[task]->started - there.span[task]->started;
    work[task] = here.span[task]->duration();
  }
  for (const auto& [name, sum] : groups) {
    difference.shifts.push_back({name, sum.first, sum.second / std::int64_t{sum.first}});
  }
  const auto weight = [](const StartShift& shift) {
    return std::abs(to_us(shift.later)) * shift.count;
  };
  std::stable_sort(difference.shifts.begin(),
                   difference.shifts.end(),
                   [&](const StartShift& a, const StartShift& b) { return weight(a) > weight(b); });
  const auto later = [&](double share) {
    return done_at(run, work, share) - done_at(other, work, share);
  };
  difference.quarter = later(0.25);
  difference.half = later(0.5);
  difference.three_quarters = later(0.75);
  return difference;
}

std::string later_text(Duration time) {
  return time < Duration{0} ? readable(-time) + " earlier" : readable(time) + " later";
}

/// "A 3 instead of 4, B 5 instead of 7"; what is equal is left out.
std::string counts_text(const Metrics& here, const Metrics& there) {
  std::vector<std::string> parts;
  const auto compare = [&](std::uint64_t a, std::uint64_t b, std::string_view what) {
    if (a != b) parts.push_back(fmt::format("{} {} instead of {}", a, what, b));
  };
  compare(here.tasks, there.tasks, "tasks");
  compare(here.streams, there.streams, "streams");
  compare(here.waits, there.waits, "waits for events");
  compare(here.host_calls, there.host_calls, "host calls");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string path_text(const Explanation& run, const Explanation& other) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < path_bound_count; ++i) {
    const auto which = static_cast<PathBound>(i);
    const double here = run.attribution.path_share(which);
    const double there = other.attribution.path_share(which);
    if (std::abs(here - there) < telling_share) continue;
    parts.push_back(fmt::format("{} {:.1f} % of the makespan instead of {:.1f} %",
                                to_string(which),
                                100 * here,
                                100 * there));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string shifts_text(const TaskDifference& tasks, Duration makespan) {
  std::vector<std::string> parts;
  for (const StartShift& shift : tasks.shifts) {
    if (std::abs(to_us(shift.later)) < telling_share * to_us(makespan)) continue;
    if (parts.size() == most_shifts) break;
    parts.push_back(fmt::format("{} {}", shift.tasks, later_text(shift.later)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> sentences_of(const Explanation& run,
                                      const Explanation& other,
                                      const RunDifference& difference) {
  const Duration here = difference.makespan;
  const Duration there = difference.other_makespan;
  std::vector<std::string> said;
  const double change = there == Duration{0} ? 0 : 100 * (to_us(here) / to_us(there) - 1);
  said.push_back(fmt::format("takes {} against {}: {:.2f} % {}",
                             readable(here),
                             readable(there),
                             std::abs(change),
                             here <= there ? "shorter" : "longer"));
  const auto say = [&](std::string_view before, const std::string& text) {
    if (!text.empty()) said.push_back(fmt::format("{}{}", before, text));
  };
  say("has ", counts_text(run.metrics, other.metrics));
  say("who decides: ", path_text(run, other));
  said.push_back(
      fmt::format("devices are busy {:.1f} % of the time instead of {:.1f} %, with {:.2f} "
                  "tasks at once instead of {:.2f}",
                  100 * run.metrics.busy_share,
                  100 * other.metrics.busy_share,
                  run.metrics.mean_concurrency,
                  other.metrics.mean_concurrency));
  if (!difference.tasks) return said;
  const TaskDifference& tasks = *difference.tasks;
  said.push_back(fmt::format(
      "{} of {} tasks follow another task in their stream", tasks.other_before, tasks.tasks));
  say("starts on average: ", shifts_text(tasks, here));
  said.push_back(fmt::format("a quarter of the work is done {}, half of it {}, three quarters {}",
                             later_text(tasks.quarter),
                             later_text(tasks.half),
                             later_text(tasks.three_quarters)));
  return said;
}

}  // namespace

RunDifference run_difference(const Explanation& run, const Explanation& other) {
  RunDifference difference{.other = other.run.title,
                           .makespan = run.attribution.makespan,
                           .other_makespan = other.attribution.makespan,
                           .sentences = {},
                           .tasks = {}};
  if (same_tasks(run.run.graph, other.run.graph)) {
    difference.tasks = task_difference(run.run, other.run);
  }
  difference.sentences = sentences_of(run, other, difference);
  return difference;
}

const Fields<RunDifference>& run_difference_fields() {
  using D = RunDifference;
  using T = TaskDifference;
  using S = StartShift;
  static const Fields<S> shifts{{"tasks", &S::tasks},
                                {"count", &S::count},
                                {"later_ps", [](const S& s) { return s.later.count(); }}};
  static const Fields<T> tasks{
      {"tasks", &T::tasks},
      {"other_before", &T::other_before, {.doc = "tasks that follow another one in their stream"}},
      {"shifts", &T::shifts, shifts},
      {"quarter_later_ps",
       [](const T& t) { return t.quarter.count(); },
       {.doc = "how much later a quarter of the work is done"}},
      {"half_later_ps", [](const T& t) { return t.half.count(); }},
      {"three_quarters_later_ps", [](const T& t) { return t.three_quarters.count(); }}};
  static const Fields<D> fields{
      {"other", &D::other},
      time_fields<D>("makespan", &D::makespan),
      time_fields<D>("other_makespan", &D::other_makespan),
      {"sentences", &D::sentences},
      {"tasks", &D::tasks, tasks, {.doc = "missing: the workload is cut otherwise there"}}};
  return fields;
}

}  // namespace schedlab
