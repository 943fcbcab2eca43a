// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/profiled_run.hpp"

#include "profiler/activity_trace.hpp"
#include "real_exec/executor/device_executor.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace schedlab {
namespace {

RunOffset offset_of(const Trace& run, const Trace& profiled) {
  std::unordered_map<std::uint32_t, const HostSpan*> outer;
  for (const HostSpan& span : run.hosts) outer.emplace(span.call, &span);
  Duration least = Duration::min();
  Duration most = Duration::max();
  for (const HostSpan& inner : profiled.hosts) {
    // Other calls may be those with which the executor prepares a run: it loads graphs before.
    const HostCallKind kind = inner.what.kind();
    if (kind != HostCallKind::launch && kind != HostCallKind::graph_launch) continue;
    const auto found = outer.find(inner.call);
    if (found == outer.end()) continue;
    least = std::max(least, found->second->started - inner.started);
    most = std::min(most, found->second->ended - inner.ended);
  }
  if (least == Duration::min() || most == Duration::max()) {
    throw DeviceError(
        "the profiler's log has no call of the run: record calls (ProfilerOptions::calls)");
  }
  if (least > most) {
    throw DeviceError(
        fmt::format("the profiler's calls do not lie within the run's: the clocks are {} ns apart "
                    "at least; was "
                    "the log recorded of this run alone?",
                    std::chrono::duration_cast<std::chrono::nanoseconds>(least - most).count()));
  }
  return {.offset = least + (most - least) / 2, .error = (most - least) / 2};
}

}  // namespace

RunOffset set_profiled_times(Execution& run, const TaskGraph& graph, const ActivityLog& log) {
  const ProfiledTrace profiled = activity_trace(log, graph, run.plan, Time{});
  const RunOffset clocks = offset_of(run.trace, profiled.trace);
  std::vector<TaskTime> times;
  times.reserve(profiled.trace.tasks.size());
  for (const TaskSpan& span : profiled.trace.tasks) {
    times.push_back({.task = span.task,
                     .started = span.started + clocks.offset,
                     .ended = span.ended + clocks.offset});
  }
  set_task_times(run, times);
  return clocks;
}

}  // namespace schedlab
