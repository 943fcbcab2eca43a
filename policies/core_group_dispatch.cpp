// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_dispatch.hpp"

#include "policies/core_group_run.hpp"
#include "policies/option_specs.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/plan_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The run in estimated time.
Plan played(const Problem& problem, CoreGroupRun& run) {
  using Running = std::pair<Time, StreamId>;
  PlanBuilder times{problem};  // finish_on also counts waits for tensors that others add into
  for (const StreamSpec& group : run.initial_streams()) times.add_stream(group);
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  std::vector<StreamId> ended;
  Time now{};
  do {
    for (const DispatchedCall& made : run.dispatch(ended, now)) {
      if (made.call.kind() != HostCallKind::launch) continue;
      const TaskId task = made.call.task();
      const StreamId group = made.call.stream();
      running.emplace(
          std::max(times.finish_on(task, group), made.at + problem.costs.duration(task)), group);
      times.place(task, group);
    }
    if (running.empty()) break;
    now = running.top().first;
    ended.clear();
    for (; !running.empty() && running.top().first == now; running.pop()) {
      ended.push_back(running.top().second);
    }
  } while (true);
  return run.decided();
}

/// Before each launch the thread waits until the stream is idle and sleeps.
void add_scheduling(Plan& plan, Duration scheduling) {
  const std::int64_t ns = scheduling / std::chrono::nanoseconds{1};
  if (ns > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
    throw InfeasibleError(fmt::format(
        "scheduling_us: {} s for one operator are more than a host can sleep in one call (4 s)",
        to_seconds(scheduling)));
  }
  std::vector<HostCall> calls;
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) {
      calls.push_back(HostCall::synchronize_stream(call.stream()));
      calls.push_back(HostCall::sleep_ns(static_cast<std::uint32_t>(ns)));
    }
    calls.push_back(call);
  }
  plan.hosts[HostId{0}].calls = std::move(calls);
}

}  // namespace

std::unique_ptr<OnlinePolicy> CoreGroupPolicy::online(const Problem& problem) const {
  if (options_.dispatch == Dispatch::static_) return nullptr;
  return std::make_unique<CoreGroupRun>(
      problem, std::string{name()}, options_, ready_operators(problem.graph, options_.max_streams));
}

Plan CoreGroupPolicy::plan(const Problem& problem) const {
  CoreGroupRun run{
      problem, std::string{name()}, options_, ready_operators(problem.graph, options_.max_streams)};
  Plan plan = played(problem, run);
  if (options_.scheduling > Duration{0}) add_scheduling(plan, options_.scheduling);
  return plan;
}

CoreGroupOptions CoreGroupOptions::from(const Options& options) {
  return {.max_streams = count_of(options, "max_streams"),
          .scheduling = from_us(options.number("scheduling_us")),
          .dispatch = enum_value<Dispatch>(options.text("dispatch"))};
}

std::vector<OptionSpec> core_group_options() {
  OptionSpec groups = max_streams_option(default_core_groups, "Number of core groups used.");
  groups.minimum = 1;
  return {
      std::move(groups),
      {.name = "scheduling_us",
       .default_value = 0.0,
       .doc = "What choosing an operator takes; one thread after another chooses, each once its "
              "group is idle.",
       .minimum = 0,
       .maximum = 4e6},
      {.name = "dispatch",
       .default_value = std::string{to_string(Dispatch::static_)},
       .doc = "Who runs what is decided before the run by estimated durations, or by the groups' "
              "threads while it goes on.",
       .allowed = enum_names<Dispatch>()}};
}

std::string core_group_name(std::uint32_t group) {
  return fmt::format("core group {}", group);
}

}  // namespace schedlab
