// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_dispatch.hpp"
#include "policies/policy_info.hpp"

#include <queue>

namespace schedlab {
namespace {

/// Each core group stays on the part of the graph where it is: a group that has ended an operator
/// takes a ready successor of it, else another ready successor of one of its predecessors, else
/// whatever has been ready longest. Independent subgraphs (the slices of a split batch) so stay on
/// one group each.
/// Cost: O((tasks + edges) log tasks) plus, per operator, the successors of its predecessors. Ties:
/// lower task id. Source: the thread function of swFLOWpro, "A Dataflow Computing System for New
/// Generation of Domestic Heterogeneous Many-Core Processors", which does not say what a thread
/// takes when neither kind is ready; oldest first is assumed.
class SuccessorFirst final : public CoreGroupPolicy {
 public:
  using CoreGroupPolicy::CoreGroupPolicy;
  [[nodiscard]] std::string_view name() const override { return "successor_first"; }

 private:
  [[nodiscard]] std::unique_ptr<ReadyOperators> ready_operators(
      const TaskGraph& graph, std::uint32_t groups) const override;
};

class TaskPool final : public ReadyOperators {
 public:
  explicit TaskPool(const TaskGraph& graph) : graph_(graph), ready_(graph.task_count(), false) {}

  void arrive(TaskId task, StreamId /*group*/) override {
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

std::unique_ptr<ReadyOperators> SuccessorFirst::ready_operators(const TaskGraph& graph,
                                                                std::uint32_t /*groups*/) const {
  return std::make_unique<TaskPool>(graph);
}

}  // namespace

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
