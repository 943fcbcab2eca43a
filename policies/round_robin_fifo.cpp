// SPDX-License-Identifier: Apache-2.0
#include "policies/round_robin_fifo.hpp"

#include <deque>

namespace schedlab {
namespace {

class GroupQueues final : public ReadyOperators {
 public:
  explicit GroupQueues(std::uint32_t groups) : queues_(groups) {}

  void arrive(TaskId task) override {
    queues_[StreamId{turn_}].push_back(task);
    turn_ = (turn_ + 1) % static_cast<std::uint32_t>(queues_.size());
  }

  [[nodiscard]] TaskId take(StreamId group, TaskId /*last*/) override {
    std::deque<TaskId>& queue = queues_[group];
    if (queue.empty()) return TaskId::none();
    const TaskId task = queue.front();
    queue.pop_front();
    return task;
  }

 private:
  IdVector<StreamId, std::deque<TaskId>> queues_;
  std::uint32_t turn_ = 0;
};

}  // namespace

Plan RoundRobinFifo::plan(const Problem& problem) const {
  GroupQueues queues{options_.max_streams};
  return dispatch_to_core_groups(problem, "round_robin_fifo", options_, queues);
}

PolicyInfo round_robin_fifo_info() {
  return {.name = "round_robin_fifo",
          .summary =
              "Operators to core groups in turn as they become ready; each group has a "
              "first-in-first-out queue of its own.",
          .source =
              "swFLOWpro, \"A Dataflow Computing System for New Generation of Domestic "
              "Heterogeneous Many-Core Processors\": two-level parallelism",
          .options = core_group_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<RoundRobinFifo>(CoreGroupOptions::from(options));
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
