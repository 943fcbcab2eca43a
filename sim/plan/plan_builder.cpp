// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_builder.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/stream_order.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

std::size_t Placement::memory_bytes() const {
  return streams.size() * sizeof(StreamSpec) + stream_of.size() * sizeof(StreamId) +
         order.capacity() * sizeof(TaskId) + extra.capacity() * sizeof(extra.front());
}

PlanBuilder::PlanBuilder(const Problem& problem)
    : problem_(problem), accumulations_(problem.graph), finish_(problem.graph.task_count()) {
  placement_.stream_of.resize(problem.graph.task_count());
  placement_.order.reserve(problem.graph.task_count());
  if (!accumulations_.empty()) last_writer_.resize(problem.graph.tensors().size());
}

StreamId PlanBuilder::add_stream(StreamSpec spec, bool created) {
  placement_.created.push_back(created);
  free_at_.push_back(Time{});
  last_on_.push_back(TaskId::none());
  IdVector<StreamId, StreamSpec>& streams = placement_.streams;
  one_device_ = one_device_ && (streams.empty() || streams.begin()->device == spec.device);
  return streams.push_back(std::move(spec));
}

void PlanBuilder::add_streams(std::uint32_t count) {
  const std::size_t streams = stream_count() + count;
  placement_.streams.reserve(streams);
  free_at_.reserve(streams);
  last_on_.reserve(streams);
  for (std::uint32_t i = 0; i < count; ++i) add_stream({});
}

void PlanBuilder::expect_placeable(TaskId task) const {
  const TaskGraph& graph = problem_.graph;
  SCHEDLAB_EXPECTS(!placed(task), "task " + graph.name(task) + " is placed twice");
  for (const TaskId before : graph.predecessors(task)) {
    SCHEDLAB_EXPECTS(
        placed(before),
        fmt::format(
            "task {} is placed before its predecessor {}", graph.name(task), graph.name(before)));
  }
}

void PlanBuilder::place(TaskId task, StreamId stream, std::span<const TaskId> also_after) {
  SCHEDLAB_EXPECTS(placement_.streams.contains(stream),
                   fmt::format("stream {} was not added", stream.value()));
  expect_placeable(task);
  Time ready = ready_time(task);
  const auto position = static_cast<std::uint32_t>(placement_.order.size());
  for (const TaskId before : also_after) {
    SCHEDLAB_EXPECTS(placed(before),
                     "a join waits for " + problem_.graph.name(before) + ", not placed yet");
    placement_.extra.emplace_back(position, before);
    ready = std::max(ready, finish_[before]);
  }
  place_ready(task, stream, ready);
}

void PlanBuilder::place_on_earliest_finish(TaskId task) {
  expect_placeable(task);
  const Time ready = ready_time(task);
  place_ready(task, earliest_finish(task, ready), ready);
}

void PlanBuilder::place_ready(TaskId task, StreamId stream, Time ready) {
  const auto position = static_cast<std::uint32_t>(placement_.order.size());
  for (const TensorId tensor : accumulations_.of(task)) {
    if (last_writer_[tensor].valid()) placement_.extra.emplace_back(position, last_writer_[tensor]);
    last_writer_[tensor] = task;
  }
  finish_[task] = std::max(ready, free_at_[stream]) +
                  problem_.costs.duration(task, placement_.streams[stream].device);
  free_at_[stream] = finish_[task];
  last_on_[stream] = task;
  placement_.stream_of[task] = stream;
  placement_.order.push_back(task);
}

std::vector<TaskId> PlanBuilder::last_tasks() const {
  std::vector<TaskId> last;
  for (const TaskId task : last_on_) {
    if (task.valid()) last.push_back(task);
  }
  return last;
}

Time PlanBuilder::ready_time(TaskId task) const {
  Time ready{};
  for (const TaskId before : problem_.graph.predecessors(task)) {
    ready = std::max(ready, finish_[before]);
  }
  for (const TensorId tensor : accumulations_.of(task)) {
    if (last_writer_[tensor].valid()) ready = std::max(ready, finish_[last_writer_[tensor]]);
  }
  return ready;
}

Time PlanBuilder::finish_on(TaskId task, StreamId stream) const {
  return std::max(ready_time(task), free_at_[stream]) +
         problem_.costs.duration(task, placement_.streams[stream].device);
}

StreamId PlanBuilder::earliest_finish(TaskId task) const {
  return earliest_finish(task, ready_time(task));
}

StreamId PlanBuilder::earliest_finish(TaskId task, Time ready) const {
  StreamId best;
  Time best_end = Time::max();
  if (one_device_) {  // who starts first ends first
    for (const StreamId stream : free_at_.ids()) {
      const Time start = std::max(ready, free_at_[stream]);
      if (start >= best_end) continue;
      best = stream;
      best_end = start;
      if (start == ready) break;  // none can start earlier
    }
  } else {
    for (const StreamId stream : placement_.streams.ids()) {
      const Time end = std::max(ready, free_at_[stream]) +
                       problem_.costs.duration(task, placement_.streams[stream].device);
      if (end >= best_end) continue;
      best = stream;
      best_end = end;
    }
  }
  SCHEDLAB_EXPECTS(best.valid(), "add a stream before asking where a task ends first");
  return best;
}

StreamId PlanBuilder::earliest_free() const {
  const auto first = std::min_element(free_at_.begin(), free_at_.end());
  SCHEDLAB_EXPECTS(first != free_at_.end(), "add a stream before asking which is free first");
  return StreamId{static_cast<std::uint32_t>(first - free_at_.begin())};
}

/// Visits what the task at `position` has to wait for on other streams. `extra`: the first entry of
/// Placement::extra of this position or a later one; moved on to the next.
template <class Visitor>
void PlanBuilder::for_each_need(std::size_t position, std::size_t& extra, Visitor visit) const {
  const TaskId task = placement_.order[position];
  for (const TaskId before : problem_.graph.predecessors(task)) {
    if (placement_.stream_of[before] != placement_.stream_of[task]) visit(before);
  }
  for (; extra != placement_.extra.size() && placement_.extra[extra].first == position; ++extra) {
    const TaskId before = placement_.extra[extra].second;
    if (placement_.stream_of[before] != placement_.stream_of[task]) visit(before);
  }
}

PlanBuilder::Waits PlanBuilder::needed_waits() const {
  const std::size_t count = problem_.graph.task_count();
  IdVector<TaskId, std::uint32_t> consumers(count, 0);  // on other streams, not yet visited
  IdVector<TaskId, std::uint32_t> when(count, 0);
  std::size_t extra = 0;
  for (std::size_t i = 0; i < placement_.order.size(); ++i) {
    when[placement_.order[i]] = static_cast<std::uint32_t>(i);
    for_each_need(i, extra, [&](TaskId before) { ++consumers[before]; });
  }
  StreamOrder known{count};
  known.reserve_streams(placement_.streams.size());
  for (std::size_t i = 0; i < placement_.streams.size(); ++i) known.add_stream();
  IdVector<TaskId, StreamOrder::Snapshot> snapshot(count, 0);
  Waits waits;
  waits.reserve(count);
  std::vector<TaskId> needs;
  extra = 0;
  for (std::size_t i = 0; i < placement_.order.size(); ++i) {
    const TaskId task = placement_.order[i];
    const StreamId stream = placement_.stream_of[task];
    needs.clear();
    for_each_need(i, extra, [&](TaskId before) { needs.push_back(before); });
    if (needs.size() > 1) {  // a later task can imply an earlier one, never the other way round
      std::sort(needs.begin(), needs.end(), [&](TaskId a, TaskId b) { return when[a] > when[b]; });
    }
    for (const TaskId before : needs) {
      if (!known.ordered(before, stream)) {
        waits.emplace_back(task, before);
        known.join(stream, snapshot[before]);
      }
      if (--consumers[before] == 0) known.release(snapshot[before]);
    }
    known.launch(task, stream);
    if (consumers[task] > 0) snapshot[task] = known.snapshot(stream);
  }
  return waits;
}

Plan PlanBuilder::build(std::string policy_name) && {
  for (const TaskId task : problem_.graph.tasks()) {
    SCHEDLAB_EXPECTS(placed(task), "task " + problem_.graph.name(task) + " was not placed");
  }
  const Waits waits = needed_waits();
  IdVector<TaskId, bool> recorded(problem_.graph.task_count(), false);
  for (const auto& [consumer, producer] : waits) recorded[producer] = true;

  Plan plan;
  plan.policy = std::move(policy_name);
  std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  calls.reserve(placement_.order.size() + 2 * waits.size());
  IdVector<TaskId, EventId> event(problem_.graph.task_count());
  IdVector<StreamId, bool> to_create = placement_.created;
  auto wait = waits.begin();
  for (const TaskId task : placement_.order) {
    const StreamId stream = placement_.stream_of[task];
    if (to_create[stream]) {
      calls.push_back(HostCall::create_stream(stream));
      to_create[stream] = false;
    }
    for (; wait != waits.end() && wait->first == task; ++wait) {
      calls.push_back(HostCall::wait(stream, event[wait->second]));
    }
    calls.push_back(HostCall::launch(stream, task));
    if (recorded[task]) {
      event[task] = EventId{plan.event_count++};
      calls.push_back(HostCall::record(stream, event[task]));
    }
  }
  for (const StreamId stream : placement_.streams.ids()) {
    if (placement_.created[stream] && !to_create[stream])
      calls.push_back(HostCall::destroy_stream(stream));
  }
  plan.streams = std::move(placement_.streams);
  return plan;
}

}  // namespace schedlab
