// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_dispatch.hpp"

#include "policies/option_specs.hpp"
#include "sim/plan/plan_builder.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

class CoreGroups {
 public:
  CoreGroups(const Problem& problem, std::uint32_t groups, ReadyOperators& ready)
      : graph_(problem.graph),
        builder_(problem),
        ready_(ready),
        missing_(problem.graph.task_count(), 0),
        last_(groups, TaskId::none()),
        idle_(groups, true) {
    builder_.add_streams(groups);
  }

  [[nodiscard]] Plan run(std::string policy_name) {
    for (const TaskId task : graph_.tasks()) {
      missing_[task] = static_cast<std::uint32_t>(graph_.predecessors(task).size());
      if (missing_[task] == 0) ready_.arrive(task);
    }
    dispatch();
    while (!running_.empty()) {
      // Everything that ends now ends before anything starts.
      const Time now = running_.top().first;
      std::vector<TaskId> arrived;
      while (!running_.empty() && running_.top().first == now) {
        finish(running_.top().second, arrived);
        running_.pop();
      }
      std::sort(arrived.begin(), arrived.end());
      for (const TaskId task : arrived) ready_.arrive(task);
      dispatch();
    }
    return std::move(builder_).build(std::move(policy_name));
  }

 private:
  void finish(StreamId group, std::vector<TaskId>& arrived) {
    idle_[group] = true;
    for (const TaskId after : graph_.successors(last_[group])) {
      if (--missing_[after] == 0) arrived.push_back(after);
    }
  }

  void dispatch() {
    for (const StreamId group : idle_.ids()) {
      if (!idle_[group]) continue;
      const TaskId task = ready_.take(group, last_[group]);
      if (!task.valid()) continue;
      // Also counts the wait for a tensor that another operator adds into.
      running_.emplace(builder_.finish_on(task, group), group);
      builder_.place(task, group);
      last_[group] = task;
      idle_[group] = false;
    }
  }

  using Running = std::pair<Time, StreamId>;

  const TaskGraph& graph_;
  PlanBuilder builder_;
  ReadyOperators& ready_;
  IdVector<TaskId, std::uint32_t> missing_;
  IdVector<StreamId, TaskId> last_;
  IdVector<StreamId, bool> idle_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

}  // namespace

Plan dispatch_to_core_groups(const Problem& problem,
                             std::string policy_name,
                             std::uint32_t groups,
                             ReadyOperators& ready) {
  return CoreGroups{problem, groups, ready}.run(std::move(policy_name));
}

OptionSpec core_groups_option() {
  OptionSpec option = max_streams_option(default_core_groups, "Number of core groups used.");
  option.minimum = 1;
  return option;
}

}  // namespace schedlab
