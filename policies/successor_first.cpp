// SPDX-License-Identifier: Apache-2.0
#include "policies/successor_first.hpp"

#include <queue>

namespace schedlab {
namespace {

class TaskPool final : public ReadyOperators {
 public:
  explicit TaskPool(const TaskGraph& graph) : graph_(graph), ready_(graph.task_count(), false) {}

  void arrive(TaskId task) override {
    ready_[task] = true;
    by_arrival_.push(task);
  }

  [[nodiscard]] TaskId take(StreamId /*group*/, TaskId last) override {
    TaskId task = TaskId::none();
    if (last.valid()) task = neighbour(last);
    if (!task.valid()) task = oldest();
    if (task.valid()) ready_[task] = false;
    return task;
  }

 private:
  [[nodiscard]] TaskId ready_successor(TaskId task) const {
    for (const TaskId after : graph_.successors(task)) {
      if (ready_[after]) return after;
    }
    return TaskId::none();
  }

  [[nodiscard]] TaskId neighbour(TaskId last) const {
    const TaskId after = ready_successor(last);
    if (after.valid()) return after;
    for (const TaskId before : graph_.predecessors(last)) {
      const TaskId beside = ready_successor(before);
      if (beside.valid()) return beside;
    }
    return TaskId::none();
  }

  /// Those that were taken as neighbours are still in the queue and are dropped here.
  [[nodiscard]] TaskId oldest() {
    while (!by_arrival_.empty()) {
      const TaskId task = by_arrival_.front();
      by_arrival_.pop();
      if (ready_[task]) return task;
    }
    return TaskId::none();
  }

  const TaskGraph& graph_;
  IdVector<TaskId, bool> ready_;
  std::queue<TaskId> by_arrival_;
};

}  // namespace

Plan SuccessorFirst::plan(const Problem& problem) const {
  TaskPool pool{problem.graph};
  return dispatch_to_core_groups(problem, "successor_first", options_, pool);
}

PolicyInfo successor_first_info() {
  return {.name = "successor_first",
          .summary =
              "A core group that has ended an operator takes a ready successor of it, else one of "
              "its predecessors', else what has been ready longest.",
          .source =
              "swFLOWpro, \"A Dataflow Computing System for New Generation of Domestic "
              "Heterogeneous Many-Core Processors\": thread function",
          .options = core_group_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<SuccessorFirst>(CoreGroupOptions::from(options));
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
