// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/data_dependencies.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

class DependencyMaker {
 public:
  DependencyMaker(const ReplayModel& model, const TimedExecutionTrace& joined)
      : model_(model), joined_(joined), owned_(model.graph.task_count(), false) {
    for (const TaskId task : model.graph.tasks()) {
      if (!model.is_pause(task)) task_of_[model.origins[task].row] = task;
    }
  }

  TaskGraph run() && {
    for (const OperationId id : model_.graph.operations().ids()) {
      builder_.add_operation(model_.graph.operations()[id]);
    }
    for (const TaskId task : model_.graph.tasks()) {
      builder_.add_task(
          model_.graph.operation_id(task), model_.graph.tags(task), model_.costs.duration(task));
    }
    add_operators();
    add_neighbours();
    return std::move(builder_).build();
  }

 private:
  /// The activities of an operator that the replay has, by start.
  [[nodiscard]] std::vector<TaskId> activities_of(TaskId op) const {
    std::vector<TaskId> result;
    for (const std::uint32_t row : joined_.rows[op]) {
      if (const auto found = task_of_.find(row); found != task_of_.end()) {
        result.push_back(found->second);
      }
    }
    std::sort(result.begin(), result.end(), [&](TaskId a, TaskId b) {
      return model_.origins[a].row < model_.origins[b].row;  // rows are sorted by start
    });
    return result;
  }

  void add_operators() {
    const TaskGraph& graph = joined_.foreign.graph;
    // What must have ended when an operator has: its last activity, or what it stands for if it
    // has none, such as a view.
    IdVector<TaskId, std::set<TaskId>> ends(graph.task_count());
    for (const TaskId op : graph.topological_order()) {
      std::set<TaskId> needs;
      for (const TaskId need : graph.predecessors(op)) {
        needs.insert(ends[need].begin(), ends[need].end());
      }
      const std::vector<TaskId> activities = activities_of(op);
      if (activities.empty()) {
        ends[op] = std::move(needs);
        continue;
      }
      for (const TaskId need : needs) builder_.add_edge(need, activities.front());
      for (std::size_t i = 0; i < activities.size(); ++i) {
        owned_[activities[i].value()] = true;
        if (i > 0) builder_.add_edge(activities[i - 1], activities[i]);
      }
      ends[op] = {activities.back()};
    }
  }

  void add_neighbours() {
    std::map<StreamId, std::vector<TaskId>> queues;
    for (const TaskSpan& span : model_.measured.tasks) queues[span.stream].push_back(span.task);
    for (auto& [stream, queue] : queues) {
      std::sort(queue.begin(), queue.end(), [&](TaskId a, TaskId b) {
        return model_.origins[a] < model_.origins[b];
      });
      for (std::size_t i = 1; i < queue.size(); ++i) {
        if (owned_[queue[i - 1].value()] && owned_[queue[i].value()]) continue;
        builder_.add_edge(queue[i - 1], queue[i]);
      }
    }
  }

  const ReplayModel& model_;
  const TimedExecutionTrace& joined_;
  std::map<std::uint32_t, TaskId> task_of_;  // by device row
  std::vector<bool> owned_;                  // by task: some operator launched it
  TaskGraphBuilder builder_;
};

}  // namespace

TaskGraph with_data_dependencies(const ReplayModel& model, const TimedExecutionTrace& joined) {
  SCHEDLAB_EXPECTS(model.plan.hosts.size() == 1, "an execution trace is of one rank");
  return DependencyMaker{model, joined}.run();
}

}  // namespace schedlab
