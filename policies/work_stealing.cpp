// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_dispatch.hpp"
#include "policies/policy_info.hpp"

#include <deque>

namespace schedlab {
namespace {

/// Each core group has a double-ended queue. What becomes ready by an operator's end goes to the
/// back of the queue of the group that ran it, which takes from the back; a group whose own queue
/// is empty takes from the front of another's: the oldest, behind which most work is likely to be.
/// What is ready at the start is dealt in turn. Cost: O((tasks + edges) log tasks + tasks groups).
/// Ties: what becomes ready at once goes in by rising task id; victims are tried in cyclic order
/// from the next group on, where the source draws them, so that runs can be repeated. Source:
/// Blumofe and Leiserson, "Scheduling Multithreaded Computations by Work Stealing", JACM 46, 1999,
/// doi 10.1145/324133.324234.
class WorkStealing final : public CoreGroupPolicy {
 public:
  using CoreGroupPolicy::CoreGroupPolicy;
  [[nodiscard]] std::string_view name() const override { return "work_stealing"; }

 private:
  [[nodiscard]] std::unique_ptr<ReadyOperators> ready_operators(
      const TaskGraph& graph, std::uint32_t groups) const override;
};

class StolenFrom final : public ReadyOperators {
 public:
  explicit StolenFrom(std::uint32_t groups) : queues_(groups) {}

  void arrive(TaskId task, StreamId group) override {
    if (!group.valid()) {
      group = StreamId{turn_};
      turn_ = (turn_ + 1) % static_cast<std::uint32_t>(queues_.size());
    }
    queues_[group].push_back(task);
  }

  [[nodiscard]] TaskId take(StreamId group, TaskId /*last*/) override {
    if (!queues_[group].empty()) {
      const TaskId newest = queues_[group].back();
      queues_[group].pop_back();
      return newest;
    }
    const auto groups = static_cast<std::uint32_t>(queues_.size());
    for (std::uint32_t i = 1; i < groups; ++i) {
      std::deque<TaskId>& victim = queues_[StreamId{(group.value() + i) % groups}];
      if (victim.empty()) continue;
      const TaskId oldest = victim.front();
      victim.pop_front();
      return oldest;
    }
    return TaskId::none();
  }

 private:
  IdVector<StreamId, std::deque<TaskId>> queues_;
  std::uint32_t turn_ = 0;
};

std::unique_ptr<ReadyOperators> WorkStealing::ready_operators(const TaskGraph& /*graph*/,
                                                              std::uint32_t groups) const {
  return std::make_unique<StolenFrom>(groups);
}

}  // namespace

PolicyInfo work_stealing_info() {
  return {.name = "work_stealing",
          .summary =
              "Each core group works off what its own operators made ready, newest first; one "
              "without work takes the oldest of another.",
          .source =
              "Blumofe and Leiserson, \"Scheduling Multithreaded Computations by Work Stealing\", "
              "JACM 46, 1999, doi 10.1145/324133.324234",
          .options = core_group_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<WorkStealing>(CoreGroupOptions::from(options));
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
