// SPDX-License-Identifier: Apache-2.0
#include "studies/comparison/run_comparison.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t most_names = 8;   // of tasks without a partner
constexpr std::size_t most_tasks = 50;  // that takes longer, and likewise faster, in the JSON

PathPart part_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::copy_host_to_device:
    case TaskKind::copy_device_to_host:
    case TaskKind::copy_device_to_device:
    case TaskKind::collective:
      return PathPart::communication;
    case TaskKind::host:
      return PathPart::host;
    default:
      return PathPart::device;
  }
}

PathPart part_of(PathCause cause) {
  switch (cause) {
    case PathCause::host:
      return PathPart::host;
    case PathCause::launch:
      return PathPart::launch;
    case PathCause::message:
      return PathPart::communication;
    default:
      return PathPart::waiting;
  }
}

PathParts parts_of_path(const Explanation& run) {
  PathParts parts;
  const auto add = [&](PathPart part, Duration time) {
    parts.times[static_cast<std::size_t>(part)] += time;
  };
  const TraceCriticalPath& path = run.metrics.critical_path;
  for (const PathStep& step : path.steps) {
    add(part_of(run.run.graph.operation(step.task).kind), step.ran);
  }
  for (std::size_t i = 0; i < path_cause_count; ++i) {
    add(part_of(static_cast<PathCause>(i)), path.waited[i]);
  }
  add(PathPart::end, path.tail);
  return parts;
}

IdVector<TaskId, bool> tasks_on_path(const Explanation& run) {
  IdVector<TaskId, bool> on_path(run.run.graph.task_count(), false);
  for (const PathStep& step : run.metrics.critical_path.steps) on_path[step.task] = true;
  return on_path;
}

/// The tasks of both runs, summed by what `name_of` says of them.
template <class NameOf>
std::vector<TotalsChange> totals(const Explanation& first,
                                 const Explanation& second,
                                 const NameOf& name_of) {
  std::vector<TotalsChange> all;
  std::map<std::string, std::size_t> places;
  const auto add = [&](const Explanation& run, TaskTotals TotalsChange::*side) {
    const IdVector<TaskId, bool> on_path = tasks_on_path(run);
    for (const TaskSpan& span : run.run.trace.tasks) {
      const auto [place, is_new] = places.try_emplace(name_of(run.run, span), all.size());
      if (is_new) all.push_back({.name = place->first, .first = {}, .second = {}});
      TaskTotals& sums = all[place->second].*side;
      ++sums.tasks;
      sums.running += span.duration();
      if (on_path[span.task]) sums.on_path += span.duration();
    }
  };
  add(first, &TotalsChange::first);
  add(second, &TotalsChange::second);
  return all;
}

void largest_change_first(std::vector<TotalsChange>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::abs(a.longer().count()) > std::abs(b.longer().count());
  });
}

std::vector<TotalsChange> kind_totals(const Explanation& first, const Explanation& second) {
  auto kinds = totals(first, second, [](const ExplainedRun& run, const TaskSpan& span) {
    return std::string{to_string(run.graph.operation(span.task).kind)};
  });
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return enum_value<TaskKind>(a.name) < enum_value<TaskKind>(b.name);
  });
  return kinds;
}

std::vector<TotalsChange> operation_totals(const Explanation& first, const Explanation& second) {
  auto operations = totals(first, second, [](const ExplainedRun& run, const TaskSpan& span) {
    return std::string{run.graph.operation(span.task).name};
  });
  largest_change_first(operations);
  return operations;
}

/// Both runs' tasks in the order of their starts.
std::vector<const TaskSpan*> by_start(const Trace& trace) {
  std::vector<const TaskSpan*> spans;
  spans.reserve(trace.tasks.size());
  for (const TaskSpan& span : trace.tasks) spans.push_back(&span);
  std::stable_sort(spans.begin(), spans.end(), [](const TaskSpan* a, const TaskSpan* b) {
    return a->started < b->started;
  });
  return spans;
}

/// What a task is called apart from its place in the run: of a profile "gemm", not "gemm#17".
std::string name_without_place(const TaskGraph& graph, TaskId task) {
  const std::string name{graph.name(task)};
  const std::string operation{graph.operation(task).name};
  const bool numbered =
      name.starts_with(operation + "#") &&
      name.find_first_not_of("0123456789", operation.size() + 1) == std::string::npos;
  return numbered ? operation : name;
}

/// Finds the partners of tasks, and notes what has none.
class TaskMatcher {
 public:
  TaskMatcher(const Explanation& first, const Explanation& second, RunComparison& result)
      : first_(first),
        second_(second),
        result_(result),
        first_path_(tasks_on_path(first)),
        second_path_(tasks_on_path(second)) {}

  void match() {
    std::map<std::pair<std::string, std::uint32_t>, std::vector<const TaskSpan*>> waiting;
    const bool numbered = result_.match == TaskMatch::by_number;
    const auto key = [&](const Explanation& run, const TaskSpan& span) {
      return std::pair{name_without_place(run.run.graph, span.task),
                       numbered ? span.task.value() : 0U};
    };
    const std::vector<const TaskSpan*> mine = by_start(first_.run.trace);
    for (auto span = mine.rbegin(); span != mine.rend(); ++span) {
      waiting[key(first_, **span)].push_back(*span);  // the first to start is the last in the list
    }
    for (const TaskSpan* span : by_start(second_.run.trace)) {
      const auto found = waiting.find(key(second_, *span));
      if (found == waiting.end() || found->second.empty()) {
        leave(second_, *span, result_.second_only);
        continue;
      }
      pair(*found->second.back(), *span);
      found->second.pop_back();
    }
    for (const auto& [name, spans] : waiting) {
      for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
        leave(first_, **span, result_.first_only);
      }
    }
    std::stable_sort(result_.tasks.begin(), result_.tasks.end(), [](const auto& a, const auto& b) {
      return a.longer() > b.longer();
    });
  }

 private:
  void pair(const TaskSpan& mine, const TaskSpan& theirs) {
    result_.tasks.push_back(
        {.task = std::string{second_.run.graph.name(theirs.task)},
         .operation = std::string{second_.run.graph.operation(theirs.task).name},
         .first_stream = first_.run.plan.stream_name(mine.stream),
         .second_stream = second_.run.plan.stream_name(theirs.stream),
         .first = mine.duration(),
         .second = theirs.duration(),
         .first_on_path = first_path_[mine.task],
         .second_on_path = second_path_[theirs.task]});
  }

  static void leave(const Explanation& run, const TaskSpan& span, UnmatchedTasks& only) {
    ++only.tasks;
    only.running += span.duration();
    std::string name = name_without_place(run.run.graph, span.task);
    if (only.names.size() < most_names &&
        std::find(only.names.begin(), only.names.end(), name) == only.names.end()) {
      only.names.push_back(std::move(name));
    }
  }

  const Explanation& first_;
  const Explanation& second_;
  RunComparison& result_;
  IdVector<TaskId, bool> first_path_;
  IdVector<TaskId, bool> second_path_;
};

Fields<TaskTotals> totals_fields(const std::string& side) {
  using T = TaskTotals;
  return {{side + "_tasks", &T::tasks},
          time_fields<T>(side + "_running", &T::running),
          time_fields<T>(side + "_on_path", &T::on_path)};
}

Fields<TotalsChange> totals_change_fields() {
  using C = TotalsChange;
  return {{"name", &C::name},
          inlined<C>(&C::first, totals_fields("first")),
          inlined<C>(&C::second, totals_fields("second"))};
}

Fields<UnmatchedTasks> unmatched_fields() {
  using U = UnmatchedTasks;
  return {{"tasks", &U::tasks}, time_fields<U>("running", &U::running), {"names", &U::names}};
}

Fields<PathParts> path_parts_fields() {
  return for_each_name<PathPart, PathParts>([](const std::string& word, PathPart part) {
    return time_fields<PathParts>(word, [part](const PathParts& parts) { return parts.of(part); });
  });
}

/// Those that take longer most, or that are faster most.
std::vector<TaskChange> extreme_tasks(const RunComparison& result, bool slower) {
  std::vector<TaskChange> extremes;
  const std::size_t all = result.tasks.size();
  for (std::size_t i = 0; i < std::min(all, most_tasks); ++i) {
    const TaskChange& task = result.tasks[slower ? i : all - 1 - i];
    const bool counts = slower ? task.longer() > Duration{0} : task.longer() < Duration{0};
    if (counts) extremes.push_back(task);
  }
  return extremes;
}

}  // namespace

RunComparison compare_runs(const Explanation& first, const Explanation& second) {
  RunComparison result;
  result.first = first.attribution.makespan;
  result.second = second.attribution.makespan;
  result.first_evidence = first.metrics.cost_evidence;
  result.second_evidence = second.metrics.cost_evidence;
  result.first_loss = first.run.loss;
  result.second_loss = second.run.loss;
  result.first_path = parts_of_path(first);
  result.second_path = parts_of_path(second);
  result.difference = run_difference(second, first);
  result.kinds = kind_totals(first, second);
  result.operations = operation_totals(first, second);
  result.streams = totals(first, second, [](const ExplainedRun& run, const TaskSpan& span) {
    return run.plan.stream_name(span.stream);
  });
  result.match = result.difference.tasks ? TaskMatch::by_number : TaskMatch::by_name;
  TaskMatcher(first, second, result).match();
  return result;
}

const Fields<TaskChange>& task_change_fields() {
  using T = TaskChange;
  static const Fields<T> fields{
      {"task", &T::task},
      {"operation", &T::operation},
      {"first_stream", &T::first_stream},
      {"second_stream", &T::second_stream},
      time_fields<T>("first", &T::first),
      time_fields<T>("second", &T::second),
      {"longer_us", in_us(&T::longer)},
      {"first_on_path", &T::first_on_path, {.doc = "was it on the critical path?"}},
      {"second_on_path", &T::second_on_path}};
  return fields;
}

const Fields<RunComparison>& run_comparison_fields() {
  using R = RunComparison;
  static const Fields<R> fields{
      time_fields<R>("first", &R::first, {.doc = "makespan"}),
      time_fields<R>("second", &R::second),
      {"first_evidence", &R::first_evidence, {.doc = "what the times rest on"}},
      {"second_evidence", &R::second_evidence},
      {"first_loss", &R::first_loss, data_loss_fields()},
      {"second_loss", &R::second_loss, data_loss_fields()},
      {"first_path", &R::first_path, path_parts_fields(), {.doc = "sums to the makespan"}},
      {"second_path", &R::second_path, path_parts_fields()},
      {"difference", &R::difference, run_difference_fields()},
      {"kinds", &R::kinds, totals_change_fields()},
      {"operations", &R::operations, totals_change_fields()},
      {"streams", &R::streams, totals_change_fields()},
      {"match", &R::match},
      {"matched", [](const R& r) { return r.tasks.size(); }},
      {"first_only", &R::first_only, unmatched_fields()},
      {"second_only", &R::second_only, unmatched_fields()},
      {"slower", [](const R& r) { return extreme_tasks(r, true); }, task_change_fields()},
      {"faster", [](const R& r) { return extreme_tasks(r, false); }, task_change_fields()}};
  return fields;
}

}  // namespace schedlab
