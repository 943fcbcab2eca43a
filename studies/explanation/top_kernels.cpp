// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/top_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace schedlab {
namespace {

/// The tasks that a synchronization waits for: of a stream, of an event, or of all streams.
std::vector<TaskId> awaited(HostCall call,
                            const std::map<StreamId, TaskId>& last,
                            const std::map<EventId, TaskId>& recorded) {
  std::vector<TaskId> tasks;
  if (call.stream().valid()) {
    const auto found = last.find(call.stream());
    if (found != last.end()) tasks.push_back(found->second);
  } else if (call.event().valid()) {
    const auto found = recorded.find(call.event());
    if (found != recorded.end()) tasks.push_back(found->second);
  } else {
    for (const auto& [stream, task] : last) tasks.push_back(task);
  }
  return tasks;
}

/// What each host call that waited was held by, as far as the plan says: the last task launched
/// into the stream of the event before its record.
std::map<std::pair<HostId, std::uint32_t>, std::vector<TaskId>> held_by(const ExplainedRun& run) {
  std::map<std::pair<HostId, std::uint32_t>, std::vector<TaskId>> result;
  for (const HostId host : run.plan.hosts.ids()) {
    std::map<StreamId, TaskId> last;
    std::map<EventId, TaskId> recorded;
    const auto& calls = run.plan.hosts[host].calls;
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      const HostCall call = calls[i];
      if (call.kind() == HostCallKind::launch) {
        last[call.stream()] = call.task();
      } else if (call.kind() == HostCallKind::record) {
        const auto found = last.find(call.stream());
        recorded[call.event()] = found == last.end() ? TaskId::none() : found->second;
      } else if (call.kind() == HostCallKind::synchronize) {
        result[{host, i}] = awaited(call, last, recorded);
      }
    }
  }
  return result;
}

}  // namespace

IdVector<TaskId, Duration> measured_slack(const ExplainedRun& run) {
  const std::size_t tasks = run.graph.task_count();
  IdVector<TaskId, const TaskSpan*> spans(tasks, nullptr);
  Time end{};
  for (const TaskSpan& span : run.trace.tasks) {
    spans[span.task] = &span;
    end = std::max(end, span.ended);
  }
  IdVector<TaskId, Duration> slack(tasks, Duration{0});
  IdVector<TaskId, Duration> limit(tasks, Duration::max());
  const auto held = held_by(run);
  for (const HostSpan& call : run.trace.hosts) {
    const auto found = held.find({call.host, call.call});
    if (call.blocked <= Duration{0} || found == held.end()) continue;
    for (const TaskId task : found->second) {
      if (!task.valid() || spans[task] == nullptr) continue;
      // One that was done when the call was made could have ended until then.
      const Duration before = std::max(Duration{0}, call.started - spans[task]->ended);
      limit[task] = std::min(limit[task], before);
    }
  }
  const std::vector<TaskId> order = run.graph.topological_order();
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    if (spans[*task] == nullptr) continue;
    Duration most = limit[*task];
    for (const TaskId next : run.graph.successors(*task)) {
      if (spans[next] == nullptr) continue;
      const Duration gap = std::max(Duration{0}, spans[next]->started - spans[*task]->ended);
      most = std::min(most, slack[next] + gap);
    }
    slack[*task] = most == Duration::max() ? end - spans[*task]->ended : most;
  }
  return slack;
}

std::vector<KernelTotal> kernel_totals(const ExplainedRun& run) {
  const auto slack = measured_slack(run);
  std::map<OperationId, KernelTotal> totals;
  for (const TaskSpan& span : run.trace.tasks) {
    const OperationId operation = run.graph.operation_id(span.task);
    if (run.graph.operations()[operation].kind == TaskKind::host) continue;
    const auto [place, added] = totals.try_emplace(operation);
    KernelTotal& total = place->second;
    if (added) {
      total.operation = run.graph.operations()[operation].name;
      total.min_slack = slack[span.task];
      total.reliable = run.loss.has_all_of(total.operation);
    }
    ++total.tasks;
    total.running += span.duration();
    if (slack[span.task] == Duration{0}) total.no_slack += span.duration();
    total.min_slack = std::min(total.min_slack, slack[span.task]);
  }
  std::vector<KernelTotal> result;
  result.reserve(totals.size());
  for (auto& [operation, total] : totals) result.push_back(std::move(total));
  std::stable_sort(result.begin(), result.end(), [](const KernelTotal& a, const KernelTotal& b) {
    return a.running > b.running;
  });
  return result;
}

std::string kernel_totals_text(const std::vector<KernelTotal>& totals,
                               std::size_t most,
                               std::string_view mark) {
  constexpr std::size_t width = 60;  // of a name
  std::string text =
      fmt::format("longest kernels in all, and by how much one could have ended later{}\n", mark);
  for (std::size_t i = 0; i < std::min(most, totals.size()); ++i) {
    const KernelTotal& total = totals[i];
    text += fmt::format("  {:{}.{}} {:6} times {:12.3f} us, at least {:10.3f} us\n",
                        total.operation,
                        width,
                        width,
                        total.tasks,
                        to_us(total.running),
                        to_us(total.min_slack));
  }
  return text;
}

Table kernel_totals_table(const std::vector<KernelTotal>& totals) {
  Table table;
  for (const char* name : {"operation",
                           "tasks",
                           "running_us",
                           "running_without_slack_us",
                           "min_slack_us",
                           "reliable"}) {
    table.columns.push_back({name});
  }
  for (const KernelTotal& total : totals) {
    table.rows.push_back({Cell{total.operation},
                          Cell{std::int64_t{total.tasks}},
                          Cell{to_us(total.running)},
                          Cell{to_us(total.no_slack)},
                          Cell{to_us(total.min_slack)},
                          Cell{std::int64_t{total.reliable ? 1 : 0}}});
  }
  return table;
}

}  // namespace schedlab
