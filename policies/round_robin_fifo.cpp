// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_dispatch.hpp"
#include "policies/policy_info.hpp"

#include <deque>

namespace schedlab {
namespace {

/// Operators to core groups in turn, in the order in which they become ready; each group works off
/// its own first-in-first-out queue and never helps another. Cost: O((tasks + edges) log tasks).
/// Ties: what becomes ready at once is dealt by rising task id. Source: swFLOWpro, "A Dataflow
/// Computing System for New Generation of Domestic Heterogeneous Many-Core Processors" (two-level
/// parallelism: round-robin choice of the core group, FIFO choice of the operator).
class RoundRobinFifo final : public CoreGroupPolicy {
 public:
  using CoreGroupPolicy::CoreGroupPolicy;
  [[nodiscard]] std::string_view name() const override { return "round_robin_fifo"; }

 private:
  [[nodiscard]] std::unique_ptr<ReadyOperators> ready_operators(
      const TaskGraph& graph, std::uint32_t groups) const override;
};

class GroupQueues final : public ReadyOperators {
 public:
  explicit GroupQueues(std::uint32_t groups) : queues_(groups) {}

  void arrive(TaskId task, StreamId /*group*/) override {
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

std::unique_ptr<ReadyOperators> RoundRobinFifo::ready_operators(const TaskGraph& /*graph*/,
                                                                std::uint32_t groups) const {
  return std::make_unique<GroupQueues>(groups);
}

}  // namespace

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
