// SPDX-License-Identifier: Apache-2.0
#include "policies/core_group_run.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/plan_builder.hpp"

#include <algorithm>

namespace schedlab {

CoreGroupRun::CoreGroupRun(const Problem& problem,
                           std::string policy_name,
                           const CoreGroupOptions& options,
                           std::unique_ptr<ReadyOperators> ready)
    : problem_(problem),
      policy_name_(std::move(policy_name)),
      scheduling_(options.scheduling),
      ready_(std::move(ready)),
      accumulations_(problem.graph),
      missing_(problem.graph.task_count(), 0),
      state_(problem.graph.task_count(), OperatorState::unavailable),
      last_(options.max_streams, TaskId::none()),
      idle_(options.max_streams, true) {
  if (!accumulations_.empty()) last_writer_.resize(problem.graph.tensors().size());
  for (const TaskId task : problem.graph.tasks()) {
    missing_[task] = static_cast<std::uint32_t>(problem.graph.predecessors(task).size());
  }
  // No memory is asked for while workers wait.
  taken_.reserve(problem.graph.task_count());
  calls_.reserve(std::size_t{4} * options.max_streams);
}

IdVector<StreamId, StreamSpec> CoreGroupRun::initial_streams() {
  IdVector<StreamId, StreamSpec> streams;
  for (const StreamId group : idle_.ids()) {
    streams.push_back(
        {.device = DeviceId{0}, .priority = 0, .name = core_group_name(group.value())});
  }
  return streams;
}

void CoreGroupRun::enter(TaskId task, OperatorState from, OperatorState to) {
  if (state_[task] != from) [[unlikely]] {  // the text is made under a lock
    SCHEDLAB_EXPECTS(false, "state of operator " + problem_.graph.name(task));
  }
  state_[task] = to;
}

void CoreGroupRun::arrive(TaskId task, StreamId group) {
  enter(task, OperatorState::unavailable, OperatorState::available);
  ready_->arrive(task, group);
}

void CoreGroupRun::finish(StreamId group) {
  idle_[group] = true;
  enter(last_[group], OperatorState::running, OperatorState::done);
  for (const TaskId after : problem_.graph.successors(last_[group])) {
    if (--missing_[after] == 0) arrived_.emplace_back(after, group);
  }
}

void CoreGroupRun::start(TaskId task, StreamId group, Time at) {
  enter(task, OperatorState::available, OperatorState::running);
  last_[group] = task;
  idle_[group] = false;
  taken_.emplace_back(task, group);
  const auto shared = accumulations_.of(task);
  for (const TensorId tensor : shared) {
    if (last_writer_[tensor].valid()) {
      calls_.push_back({HostCall::wait(group, last_writer_[tensor]), at});
    }
  }
  calls_.push_back({HostCall::launch(group, task), at});
  if (shared.empty()) return;
  const EventId written{events_++};
  for (const TensorId tensor : shared) last_writer_[tensor] = written;
  calls_.push_back({HostCall::record(group, written), at});
}

std::span<const DispatchedCall> CoreGroupRun::dispatch(std::span<const StreamId> ended, Time now) {
  calls_.clear();
  if (!std::exchange(begun_, true)) {
    for (const TaskId task : problem_.graph.tasks()) {
      if (missing_[task] == 0) arrive(task, StreamId::none());
    }
  }
  // Everything that ends now ends before anything starts.
  arrived_.clear();
  for (const StreamId group : ended) finish(group);
  std::sort(arrived_.begin(), arrived_.end());
  for (const auto& [task, group] : arrived_) arrive(task, group);
  for (const StreamId group : idle_.ids()) {
    if (!idle_[group]) continue;
    const TaskId task = ready_->take(group, last_[group]);
    if (!task.valid()) continue;
    chosen_ = std::max(chosen_, now) + scheduling_;
    start(task, group, chosen_);
  }
  return calls_;
}

Plan CoreGroupRun::decided() const {
  PlanBuilder builder{problem_};
  for (const StreamId group : idle_.ids()) {
    builder.add_stream(
        {.device = DeviceId{0}, .priority = 0, .name = core_group_name(group.value())});
  }
  for (const auto& [task, group] : taken_) builder.place(task, group);
  return std::move(builder).build(policy_name_);
}

}  // namespace schedlab
