// SPDX-License-Identifier: Apache-2.0
// The host calls of one task of critical_first, with the events it needs.
#include "policies/critical_first_run.hpp"

#include <algorithm>

namespace schedlab {

void CriticalFirstRun::issue(TaskId task, StreamId stream) {
  const bool critical = lanes_.critical[task] != 0;
  if (critical) record_before_critical(stream);
  wait_for_needs(task, stream);
  calls_.push_back(HostCall::launch(stream, task));
  order_.launch(task, stream);
  sequence_[task] = issued_++;
  tail_[stream] = task;
  uncovered_[stream].push_back(task);
  for (const TensorId tensor : accumulations_.of(task)) {
    last_writer_[tensor] = task;
    --writers_left_[tensor];
  }
  if (critical && needs_event(task, stream)) record(stream);
  for (const TaskId after : graph_.successors(task)) {
    if (--missing_[after] > 0) continue;
    if (lanes_.critical[after] != 0) {
      next_level_.push_back(after);
    } else {
      enqueue(after);
    }
  }
}

/// Followers of the task at the end of the stream must not have to wait for the critical task that
/// is about to be launched behind it.
void CriticalFirstRun::record_before_critical(StreamId stream) {
  const TaskId tail = tail_[stream];
  if (!tail.valid() || lanes_.critical[tail] != 0 || !has_open_followers(tail)) return;
  if (!uncovered_[stream].empty()) record(stream);
}

void CriticalFirstRun::wait_for_needs(TaskId task, StreamId stream) {
  needs_.clear();
  for_each_need(task, [&](TaskId before) {
    if (!order_.ordered(before, stream)) needs_.push_back(before);
  });
  // A later task can imply an earlier one, never the other way round.
  if (needs_.size() > 1) {
    std::sort(needs_.begin(), needs_.end(), [&](TaskId a, TaskId b) {
      return sequence_[a] > sequence_[b];
    });
  }
  for (const TaskId before : needs_) {
    if (order_.ordered(before, stream)) continue;
    const EventId event = event_after(before);
    calls_.push_back(HostCall::wait(stream, event));
    order_.join(stream, snapshot_[event]);
  }
}

/// The first event that covers the task; recorded now if there is none yet.
EventId CriticalFirstRun::event_after(TaskId task) {
  if (!event_of_[task].valid()) record(order_.stream_of(task));
  return event_of_[task];
}

void CriticalFirstRun::record(StreamId stream) {
  const EventId event = snapshot_.push_back(order_.snapshot(stream));
  for (const TaskId task : uncovered_[stream]) event_of_[task] = event;
  uncovered_[stream].clear();
  calls_.push_back(HostCall::record(stream, event));
}

/// A critical task gets an event if somebody on another stream may wait for it: a critical task
/// there, any other task (its stream is not known yet), or, behind the last task of a second
/// stream, whoever uses what leaves the graph.
bool CriticalFirstRun::needs_event(TaskId task, StreamId stream) const {
  const auto followers = graph_.successors(task);
  if (followers.empty()) return lanes_.second[task] != 0;
  return std::any_of(followers.begin(), followers.end(), [&](TaskId after) {
    if (lanes_.critical[after] == 0) return true;
    const std::size_t layer = lanes_.layer[after];
    if (layer >= layer_lanes_.size() || !layer_lanes_[layer].first.valid()) return true;
    const Lanes& lanes = layer_lanes_[layer];
    return (lanes_.second[after] != 0 ? lanes.second : lanes.first) != stream;
  });
}

/// Is anything left that has to come after this task?
bool CriticalFirstRun::has_open_followers(TaskId task) const {
  const auto followers = graph_.successors(task);
  const auto tensors = accumulations_.of(task);
  return std::any_of(followers.begin(),
                     followers.end(),
                     [&](TaskId after) { return !order_.launched(after); }) ||
         std::any_of(tensors.begin(), tensors.end(), [&](TensorId tensor) {
           return last_writer_[tensor] == task && writers_left_[tensor] > 0;
         });
}

/// Visits what has to be complete before the task: predecessors, and who added last into its
/// tensors.
template <class Visitor>
void CriticalFirstRun::for_each_need(TaskId task, Visitor visit) const {
  for (const TaskId before : graph_.predecessors(task)) visit(before);
  for (const TensorId tensor : accumulations_.of(task)) {
    if (last_writer_[tensor].valid()) visit(last_writer_[tensor]);
  }
}

}  // namespace schedlab
