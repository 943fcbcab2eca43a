// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/compare.hpp"

#include "sim/base/error.hpp"
#include "sim/base/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

namespace schedlab {

namespace {

[[nodiscard]] double as_double(Duration duration) {
  return static_cast<double>(duration.count());
}

/// Errors of a set of tasks, while they are collected.
class Collector {
 public:
  void add(const TaskComparison& task, Duration makespan) {
    ++errors_.tasks;
    errors_.simulated_running += task.simulated_duration;
    errors_.measured_running += task.measured_duration;
    // A clock that cannot resolve a task says nothing of its duration.
    if (task.measured_duration > Duration{0}) {
      durations_.push_back(std::abs(as_double(task.simulated_duration - task.measured_duration)) /
                           as_double(task.measured_duration));
    }
    if (makespan > Duration{0}) {
      starts_.push_back(std::abs(as_double(task.simulated_start - task.measured_start)) /
                        as_double(makespan));
    }
  }
  [[nodiscard]] bool empty() const { return errors_.tasks == 0; }

  [[nodiscard]] TaskErrors finish(std::string name) {
    errors_.name = std::move(name);
    errors_.duration = quantiles(durations_);
    errors_.start = quantiles(starts_);
    if (errors_.measured_running > Duration{0}) {
      errors_.bias = as_double(errors_.simulated_running) / as_double(errors_.measured_running) - 1;
    }
    return std::move(errors_);
  }

 private:
  [[nodiscard]] static ErrorQuantiles quantiles(std::vector<double>& values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    return {percentile(values, 0.5), percentile(values, 0.9)};
  }

  TaskErrors errors_;
  std::vector<double> durations_;
  std::vector<double> starts_;
};

/// Time in which at least one task ran, summed over devices.
[[nodiscard]] Duration busy_time(const Trace& trace) {
  std::map<DeviceId, std::vector<std::pair<Time, Time>>> spans;
  for (const TaskSpan& span : trace.tasks) {
    spans[span.device].emplace_back(span.started, span.ended);
  }
  Duration busy{0};
  for (auto& [device, list] : spans) {
    std::sort(list.begin(), list.end());
    Time until{};
    for (const auto& [started, ended] : list) {
      busy += std::max(Duration{0}, ended - std::max(started, until));
      until = std::max(until, ended);
    }
  }
  return busy;
}

[[nodiscard]] std::vector<TaskComparison> compare_tasks(const ComparisonInput& input) {
  const std::size_t count = input.problem.graph.task_count();
  IdVector<TaskId, std::vector<Duration>> starts(count);
  IdVector<TaskId, std::vector<Duration>> durations(count);
  for (const Trace& trace : input.measured) {
    for (const TaskSpan& span : trace.tasks) {
      SCHEDLAB_EXPECTS(starts.contains(span.task), fmt::format("task {}", span.task.value()));
      starts[span.task].push_back(span.started.time_since_epoch());
      durations[span.task].push_back(span.duration());
    }
  }
  std::vector<TaskComparison> tasks;
  tasks.reserve(count);
  for (const TaskSpan& span : input.simulated.tasks) {
    SCHEDLAB_EXPECTS(starts.contains(span.task), fmt::format("task {}", span.task.value()));
    if (starts[span.task].size() < input.measured.size()) continue;
    tasks.push_back({.task = span.task,
                     .simulated_start = span.started.time_since_epoch(),
                     .measured_start = median_of(std::move(starts[span.task])),
                     .simulated_duration = span.duration(),
                     .measured_duration = median_of(std::move(durations[span.task]))});
  }
  std::sort(tasks.begin(), tasks.end(), [](const TaskComparison& a, const TaskComparison& b) {
    return a.task < b.task;
  });
  return tasks;
}

void collect_errors(const ComparisonInput& input, TraceComparison& result) {
  const TaskGraph& graph = input.problem.graph;
  Collector all;
  std::array<Collector, task_kind_count> kinds;
  IdVector<OperationId, Collector> operations(graph.operations().size());
  for (const TaskComparison& task : result.tasks) {
    all.add(task, result.measured);
    kinds.at(static_cast<std::size_t>(graph.operation(task.task).kind)).add(task, result.measured);
    operations[graph.operation_id(task.task)].add(task, result.measured);
  }
  result.all = all.finish("all");
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds.at(kind).empty()) continue;
    result.by_kind.push_back(
        kinds.at(kind).finish(std::string{to_string(static_cast<TaskKind>(kind))}));
  }
  for (const OperationId operation : operations.ids()) {
    if (operations[operation].empty()) continue;
    result.by_operation.push_back(operations[operation].finish(graph.operations()[operation].name));
  }
}

}  // namespace

Duration median_of(std::vector<Duration> durations) {
  SCHEDLAB_EXPECTS(!durations.empty(), "median of nothing");
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  if (durations.size() % 2 == 1) return *middle;
  const Duration below = *std::max_element(durations.begin(), middle);
  return below + (*middle - below) / 2;
}

std::size_t nearest_to(std::span<const Trace> traces, Duration median) {
  std::size_t nearest = 0;
  const auto distance = [&](std::size_t i) {
    return std::chrono::abs(traces[i].makespan() - median);
  };
  for (std::size_t i = 1; i < traces.size(); ++i) {
    if (distance(i) < distance(nearest)) nearest = i;
  }
  return nearest;
}

TraceComparison compare_traces(const ComparisonInput& input) {
  SCHEDLAB_EXPECTS(!input.measured.empty(), "no measured trace");
  TraceComparison result;
  result.predicted = input.simulated.makespan();
  std::vector<Duration> makespans(input.makespans.begin(), input.makespans.end());
  if (makespans.empty()) {
    for (const Trace& trace : input.measured) makespans.push_back(trace.makespan());
  }
  result.measured = median_of(std::move(makespans));
  if (result.measured > Duration{0}) {
    result.error = as_double(result.predicted - result.measured) / as_double(result.measured);
  }
  result.tasks = compare_tasks(input);
  collect_errors(input, result);

  const Trace& nearest = input.measured[nearest_to(input.measured, result.measured)];
  result.simulated_busy = busy_time(input.simulated);
  result.measured_busy = busy_time(nearest);
  IdVector<OperationId, Duration> own;
  if (input.alone == nullptr) own = durations_alone(input.problem.graph, input.measured);
  result.budget = error_budget({.problem = input.problem,
                                .simulated = input.simulated,
                                .measured = nearest,
                                .median = result.measured,
                                .noise_floor = input.noise_floor,
                                .alone = input.alone == nullptr ? own : *input.alone});
  return result;
}

}  // namespace schedlab
