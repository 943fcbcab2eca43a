// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_builder.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/stream_order.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

PlanBuilder::PlanBuilder(const Problem& problem)
    : problem_(problem),
      accumulations_(problem.graph),
      placed_(problem.graph.task_count()),
      finish_(problem.graph.task_count()) {
  if (!accumulations_.empty()) last_writer_.resize(problem.graph.tensors().size());
  order_.reserve(problem.graph.task_count());
}

StreamId PlanBuilder::add_stream(StreamSpec spec, bool created) {
  created_.push_back(created);
  free_at_.push_back(Time{});
  last_on_.push_back(TaskId::none());
  one_device_ = one_device_ && (streams_.empty() || streams_.begin()->device == spec.device);
  return streams_.push_back(std::move(spec));
}

void PlanBuilder::add_streams(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) add_stream({});
}

void PlanBuilder::place(TaskId task, StreamId stream, std::span<const TaskId> also_after) {
  const TaskGraph& graph = problem_.graph;
  SCHEDLAB_EXPECTS(streams_.contains(stream),
                   fmt::format("stream {} was not added", stream.value()));
  SCHEDLAB_EXPECTS(!placed(task), "task " + graph.name(task) + " is placed twice");
  for (const TaskId before : graph.predecessors(task)) {
    SCHEDLAB_EXPECTS(
        placed(before),
        fmt::format(
            "task {} is placed before its predecessor {}", graph.name(task), graph.name(before)));
  }
  Time ready = ready_time(task);
  const auto position = static_cast<std::uint32_t>(order_.size());
  for (const TaskId before : also_after) {
    SCHEDLAB_EXPECTS(placed(before), "a join waits for " + graph.name(before) + ", not placed yet");
    extra_.emplace_back(position, before);
    ready = std::max(ready, finish_[before]);
  }
  for (const TensorId tensor : accumulations_.of(task)) {
    if (last_writer_[tensor].valid()) extra_.emplace_back(position, last_writer_[tensor]);
    last_writer_[tensor] = task;
  }
  finish_[task] =
      std::max(ready, free_at_[stream]) + problem_.costs.duration(task, streams_[stream].device);
  free_at_[stream] = finish_[task];
  last_on_[stream] = task;
  placed_[task] = stream;
  order_.push_back(task);
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
         problem_.costs.duration(task, streams_[stream].device);
}

StreamId PlanBuilder::earliest_finish(TaskId task) const {
  const Time ready = ready_time(task);
  StreamId best;
  Time best_end = Time::max();
  if (one_device_) {  // who starts first ends first
    for (const StreamId stream : free_at_.ids()) {
      const Time start = std::max(ready, free_at_[stream]);
      if (start >= best_end) continue;
      best = stream;
      best_end = start;
    }
  } else {
    for (const StreamId stream : streams_.ids()) {
      const Time end = std::max(ready, free_at_[stream]) +
                       problem_.costs.duration(task, streams_[stream].device);
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
/// extra_ of this position or a later one; moved on to the next.
template <class Visitor>
void PlanBuilder::for_each_need(std::size_t position, std::size_t& extra, Visitor visit) const {
  const TaskId task = order_[position];
  for (const TaskId before : problem_.graph.predecessors(task)) {
    if (placed_[before] != placed_[task]) visit(before);
  }
  for (; extra != extra_.size() && extra_[extra].first == position; ++extra) {
    const TaskId before = extra_[extra].second;
    if (placed_[before] != placed_[task]) visit(before);
  }
}

PlanBuilder::Waits PlanBuilder::needed_waits() const {
  const std::size_t count = problem_.graph.task_count();
  IdVector<TaskId, std::uint32_t> consumers(count, 0);  // on other streams, not yet visited
  IdVector<TaskId, std::uint32_t> when(count, 0);
  std::size_t extra = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    when[order_[i]] = static_cast<std::uint32_t>(i);
    for_each_need(i, extra, [&](TaskId before) { ++consumers[before]; });
  }
  StreamOrder known{count};
  known.reserve_streams(streams_.size());
  for (std::size_t i = 0; i < streams_.size(); ++i) known.add_stream();
  IdVector<TaskId, StreamOrder::Snapshot> snapshot(count, 0);
  Waits waits;
  waits.reserve(count);
  std::vector<TaskId> needs;
  extra = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const TaskId task = order_[i];
    const StreamId stream = placed_[task];
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
  calls.reserve(order_.size() + 2 * waits.size());
  IdVector<TaskId, EventId> event(problem_.graph.task_count());
  IdVector<StreamId, bool> to_create = created_;
  auto wait = waits.begin();
  for (const TaskId task : order_) {
    const StreamId stream = placed_[task];
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
  for (const StreamId stream : streams_.ids()) {
    if (created_[stream] && !to_create[stream]) calls.push_back(HostCall::destroy_stream(stream));
  }
  plan.streams = std::move(streams_);
  return plan;
}

}  // namespace schedlab
