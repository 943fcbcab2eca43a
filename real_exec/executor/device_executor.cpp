// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/device_executor.hpp"

#include "real_exec/executor/call_source.hpp"
#include "real_exec/executor/device_run.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/call_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

void expect_one_device(std::string_view executor,
                       const TaskGraph& graph,
                       const IdVector<StreamId, StreamSpec>& streams) {
  if (!graph.collectives().empty()) {
    throw InfeasibleError(fmt::format("{} runs one device: the graph has collectives", executor));
  }
  for (const StreamId id : streams.ids()) detail::expect_first_device(executor, id, streams[id]);
}

/// When each task was launched, in launch order.
struct Launched {
  TaskId task;
  StreamId stream;
  std::optional<Time> returned;  ///< the call's end; nullopt: not recorded
};

std::vector<Launched> launches(const Execution& run) {
  const Plan& plan = run.plan;
  const auto& calls = plan.hosts[HostId{0}].calls;
  std::vector<std::optional<Time>> returned(calls.size());
  for (const HostSpan& span : run.trace.hosts) {
    if (span.call < returned.size()) returned[span.call] = span.ended;
  }
  std::vector<Launched> all;
  std::vector<std::uint32_t> rows(plan.graphs.size(), 0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].kind() == HostCallKind::launch) {
      all.push_back({calls[i].task(), calls[i].stream(), returned[i]});
    } else if (calls[i].kind() == HostCallKind::graph_launch) {
      const DeviceGraph& graph = plan.graphs[calls[i].graph()];
      const std::uint32_t row = rows[calls[i].graph()]++;
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        all.push_back({graph.task(row, node), graph.stream(node), returned[i]});
      }
    }
  }
  return all;
}

}  // namespace

void set_task_times(Execution& run, std::span<const TaskTime> times) {
  const std::vector<Launched> launched = launches(run);
  std::uint32_t tasks = 0;
  for (const Launched& launch : launched) tasks = std::max(tasks, launch.task.value() + 1);
  IdVector<TaskId, const TaskTime*> by_task(tasks, nullptr);
  for (const TaskTime& time : times) {
    SCHEDLAB_EXPECTS(by_task.contains(time.task),
                     fmt::format("time of task {}, which was not launched", time.task.value()));
    SCHEDLAB_EXPECTS(by_task[time.task] == nullptr,
                     fmt::format("two times of task {}", time.task.value()));
    by_task[time.task] = &time;
  }
  std::size_t placed = 0;
  run.trace.tasks.clear();
  for (const Launched& launch : launched) {
    const TaskTime* const time = by_task[launch.task];
    if (time == nullptr) continue;
    ++placed;
    run.trace.tasks.push_back(
        {.task = launch.task,
         .stream = launch.stream,
         .host = HostId{0},
         .device = DeviceId{0},
         .submitted = std::min(launch.returned.value_or(time->started), time->started),
         .started = time->started,
         .ended = time->ended});
    run.trace.ended = std::max(run.trace.ended, time->ended);
  }
  SCHEDLAB_EXPECTS(placed == times.size(), "times of tasks that were not launched");
}

void DeviceExecutor::run(const TaskGraph& graph, const Plan& plan, Execution& out) {
  out = {};
  const std::string& executor = backend_.properties().executor;
  detail::expect_one_host(plan, executor);
  expect_well_formed(plan, graph.task_count());
  expect_one_device(executor, graph, plan.streams);
  out.plan = plan;
  detail::DeviceRun run(backend_, options_, graph);
  run.execute(out.plan, detail::calls_of(out.plan), out);
  if (options_.timing == TaskTiming::events) set_task_times(out, run.times());
}

void DeviceExecutor::run(const Problem& problem, OnlinePolicy& policy, Execution& out) {
  out = {};
  Plan plan;
  PolicySource source(policy, problem, plan);
  const Plan initial = source.plan();
  expect_one_device(backend_.properties().executor, problem.graph, initial.streams);
  const detail::CallSource calls = detail::calls_of(source);
  detail::DeviceRun run(backend_, options_, problem.graph);
  try {
    run.execute(initial, calls, out);
  } catch (...) {
    out.plan = std::move(plan);
    throw;
  }
  out.plan = std::move(plan);
  if (options_.timing == TaskTiming::events) set_task_times(out, run.times());
}

}  // namespace schedlab
