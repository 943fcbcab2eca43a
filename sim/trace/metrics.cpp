// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/metrics.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace schedlab {

namespace {

[[nodiscard]] std::vector<std::uint32_t> by_start(const Trace& trace) {
  std::vector<std::uint32_t> order(trace.tasks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&trace](std::uint32_t a, std::uint32_t b) {
    return trace.tasks[a].started < trace.tasks[b].started;
  });
  return order;
}

[[nodiscard]] std::vector<StreamUse> stream_use_of(const Plan& plan,
                                                   const Trace& trace,
                                                   const std::vector<std::uint32_t>& order) {
  std::vector<StreamUse> uses(plan.streams.size());
  std::vector<Time> until(plan.streams.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    uses[i].stream = StreamId{static_cast<std::uint32_t>(i)};
  }
  for (const std::uint32_t i : order) {
    const TaskSpan& span = trace.tasks[i];
    StreamUse& use = uses[span.stream.value()];
    Time& end = until[span.stream.value()];
    if (span.started > end) {
      (use.tasks == 0 ? use.idle_before : use.idle_between) += span.started - end;
    }
    use.busy += std::max(span.ended, end) - std::max(span.started, end);
    end = std::max(end, span.ended);
    ++use.tasks;
  }
  for (StreamUse& use : uses) {
    use.idle = trace.makespan() - use.busy;
    use.idle_after = trace.ended - until[use.stream.value()];
  }
  return uses;
}

/// Length of the union of the intervals of those tasks that `wanted` accepts.
template <class Wanted>
[[nodiscard]] Duration union_length(const Trace& trace,
                                    const std::vector<std::uint32_t>& order,
                                    const Wanted& wanted) {
  Duration length{0};
  Time until{};
  for (const std::uint32_t i : order) {
    const TaskSpan& span = trace.tasks[i];
    if (!wanted(span.task) || span.ended <= until) continue;
    length += span.ended - std::max(span.started, until);
    until = span.ended;
  }
  return length;
}

void fill_overlap(const Problem& problem,
                  const Trace& trace,
                  const std::vector<std::uint32_t>& order,
                  Metrics& metrics) {
  const TaskGraph& graph = problem.graph;
  const auto on_device = [&graph](TaskId task) {
    return graph.operation(task).kind != TaskKind::host;
  };
  const auto critical = [&](TaskId task) { return on_device(task) && graph.critical(task); };
  const auto other = [&](TaskId task) { return on_device(task) && !graph.critical(task); };
  metrics.critical_busy = union_length(trace, order, critical);
  metrics.overlap = metrics.critical_busy + union_length(trace, order, other) -
                    union_length(trace, order, on_device);
}

[[nodiscard]] std::vector<OperationUse> operation_use_of(const Problem& problem,
                                                         const Trace& trace,
                                                         const TraceCriticalPath& path) {
  std::map<std::string_view, OperationUse> by_name;
  for (const TaskSpan& span : trace.tasks) {
    OperationUse& use = by_name[problem.graph.operation(span.task).name];
    ++use.tasks;
    use.running += span.duration();
  }
  for (const PathStep& step : path.steps) {
    by_name[problem.graph.operation(step.task).name].on_path += step.ran;
  }
  std::vector<OperationUse> uses;
  for (auto& [name, use] : by_name) {
    use.operation = name;
    uses.push_back(std::move(use));
  }
  std::stable_sort(uses.begin(), uses.end(), [](const OperationUse& a, const OperationUse& b) {
    return a.running > b.running;
  });
  return uses;
}

void use_recorded_hosts(const Problem& problem,
                        const Plan& plan,
                        const Trace& trace,
                        Metrics& metrics) {
  if (trace.hosts.empty()) return;
  Duration busy{0};
  for (const HostSpan& call : trace.hosts) {
    metrics.host_blocked += call.blocked;
    busy += call.ended - call.started - call.blocked;
  }
  // Of two threads only the one that calls the driver is recorded.
  if (problem.platform.host(HostId{0}).front_end_thread) return;
  const auto whole = static_cast<double>(trace.makespan().count()) *
                     static_cast<double>(std::max<std::size_t>(plan.hosts.size(), 1));
  metrics.host_busy_share = whole > 0 ? static_cast<double>(busy.count()) / whole : 0.0;
}

}  // namespace

Metrics compute_metrics(const Problem& problem, const Plan& plan, const Trace& trace) {
  return compute_metrics(problem, plan, trace, graph_lower_bounds(problem));
}

Metrics compute_metrics(const Problem& problem,
                        const Plan& plan,
                        const Trace& trace,
                        const LowerBounds& graph_bounds) {
  Metrics metrics;
  Summary& summary = metrics;
  summary = Summarizer{}.summarize(problem, plan, trace, graph_bounds);
  const std::vector<std::uint32_t> order = by_start(trace);
  use_recorded_hosts(problem, plan, trace, metrics);
  fill_overlap(problem, trace, order, metrics);
  metrics.stream_use = stream_use_of(plan, trace, order);
  metrics.critical_path = trace_critical_path(problem, trace, {.plan = &plan});
  metrics.operation_use = operation_use_of(problem, trace, metrics.critical_path);
  metrics.memory = memory_use(problem, trace);
  return metrics;
}

}  // namespace schedlab
