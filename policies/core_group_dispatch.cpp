// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_dispatch.hpp"

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

class CoreGroups {
 public:
  CoreGroups(const Problem& problem, const CoreGroupOptions& options, ReadyOperators& ready)
      : problem_(problem),
        scheduling_(options.scheduling),
        builder_(problem),
        ready_(ready),
        missing_(problem.graph.task_count(), 0),
        state_(problem.graph.task_count(), OperatorState::unavailable),
        last_(options.max_streams, TaskId::none()),
        idle_(options.max_streams, true) {
    for (std::uint32_t group = 0; group < options.max_streams; ++group) {
      builder_.add_stream({.device = DeviceId{0}, .priority = 0, .name = core_group_name(group)});
    }
  }

  [[nodiscard]] Plan run(std::string policy_name) {
    for (const TaskId task : problem_.graph.tasks()) {
      missing_[task] = static_cast<std::uint32_t>(problem_.graph.predecessors(task).size());
      if (missing_[task] == 0) arrive(task);
    }
    dispatch(Time{});
    while (!running_.empty()) {
      // Everything that ends now ends before anything starts.
      const Time now = running_.top().first;
      std::vector<TaskId> arrived;
      while (!running_.empty() && running_.top().first == now) {
        finish(running_.top().second, arrived);
        running_.pop();
      }
      std::sort(arrived.begin(), arrived.end());
      for (const TaskId task : arrived) arrive(task);
      dispatch(now);
    }
    return std::move(builder_).build(std::move(policy_name));
  }

 private:
  void enter(TaskId task, OperatorState from, OperatorState to) {
    SCHEDLAB_EXPECTS(state_[task] == from, "state of operator " + problem_.graph.name(task));
    state_[task] = to;
  }

  void arrive(TaskId task) {
    enter(task, OperatorState::unavailable, OperatorState::available);
    ready_.arrive(task);
  }

  void finish(StreamId group, std::vector<TaskId>& arrived) {
    idle_[group] = true;
    enter(last_[group], OperatorState::running, OperatorState::done);
    for (const TaskId after : problem_.graph.successors(last_[group])) {
      if (--missing_[after] == 0) arrived.push_back(after);
    }
  }

  void dispatch(Time now) {
    for (const StreamId group : idle_.ids()) {
      if (!idle_[group]) continue;
      const TaskId task = ready_.take(group, last_[group]);
      if (!task.valid()) continue;
      enter(task, OperatorState::available, OperatorState::running);
      chosen_ = std::max(chosen_, now) + scheduling_;
      // finish_on also counts the wait for a tensor that another operator adds into.
      running_.emplace(
          std::max(builder_.finish_on(task, group), chosen_ + problem_.costs.duration(task)),
          group);
      builder_.place(task, group);
      last_[group] = task;
      idle_[group] = false;
    }
  }

  using Running = std::pair<Time, StreamId>;

  const Problem& problem_;
  Duration scheduling_;
  PlanBuilder builder_;
  ReadyOperators& ready_;
  Time chosen_{};  ///< when the last choice was made
  IdVector<TaskId, std::uint32_t> missing_;
  IdVector<TaskId, OperatorState> state_;
  IdVector<StreamId, TaskId> last_;
  IdVector<StreamId, bool> idle_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

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

Plan dispatch_to_core_groups(const Problem& problem,
                             std::string policy_name,
                             const CoreGroupOptions& options,
                             ReadyOperators& ready) {
  Plan plan = CoreGroups{problem, options, ready}.run(std::move(policy_name));
  if (options.scheduling > Duration{0}) add_scheduling(plan, options.scheduling);
  return plan;
}

CoreGroupOptions CoreGroupOptions::from(const Options& options) {
  return {.max_streams = count_of(options, "max_streams"),
          .scheduling = from_us(options.number("scheduling_us"))};
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
       .maximum = 4e6}};
}

std::string core_group_name(std::uint32_t group) {
  return fmt::format("core group {}", group);
}

}  // namespace schedlab
