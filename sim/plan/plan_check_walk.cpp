// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_check_walk.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::checker {

Walk::Walk(const PlanIndex& index, FindingList& findings)
    : index_(index),
      findings_(findings),
      clocks_(index),
      number_(index.graph().task_count(), 0),
      lane_(index.graph().task_count(), 0),
      events_(index.plan().event_count),
      streams_(index.plan().streams.size()),
      next_call_(index.plan().hosts.size(), 0),
      waiting_in_(index.plan().messages.size()) {
  launch_order_.reserve(index.graph().task_count());
  for (const EventId event : events_.ids()) events_[event].uses_left = index.uses(event);
  for (const StreamId stream : streams_.ids()) {
    streams_[stream].alive = !index.created_by_plan(stream);
  }
  if (plan().hosts.size() > 1) event_uses_.resize(plan().event_count);
  collect_accumulations();
}

void Walk::collect_accumulations() {
  const TensorTable& tensors = index_.graph().tensors();
  last_writer_.resize(tensors.size());
  accumulated_offset_.assign(index_.graph().task_count() + 1, 0);
  const auto for_each_use = [&](auto&& use) {
    for (const TensorId tensor : tensors.ids()) {
      if (!tensors.accumulate(tensor)) continue;
      for (const TaskId writer : tensors.writers(tensor)) use(writer, tensor);
    }
  };
  for_each_use([&](TaskId writer, TensorId) { ++accumulated_offset_[writer.value() + 1]; });
  for (std::size_t i = 1; i < accumulated_offset_.size(); ++i) {
    accumulated_offset_[i] += accumulated_offset_[i - 1];
  }
  accumulated_.resize(accumulated_offset_.back());
  std::vector<std::uint32_t> next(accumulated_offset_.begin(), accumulated_offset_.end() - 1);
  for_each_use(
      [&](TaskId writer, TensorId tensor) { accumulated_[next[writer.value()]++] = tensor; });
}

void Walk::run() {
  // A stack with host 0 on top: deterministic, and host 0 is followed first.
  for (auto host = static_cast<std::uint32_t>(plan().hosts.size()); host > 0; --host) {
    ready_.emplace_back(host - 1);
  }
  while (!ready_.empty()) {
    const HostId host = ready_.back();
    ready_.pop_back();
    follow(host);
  }
  report_deadlocks();
}

void Walk::follow(HostId host) {
  const auto size = static_cast<std::uint32_t>(plan().hosts[host].calls.size());
  while (next_call_[host] < size) {
    const std::uint32_t call = next_call_[host];
    if (!index_.skip(host, call)) {
      clocks_.reach(host, call);
      if (!step(host, call)) return;
    }
    ++next_call_[host];
  }
}

bool Walk::step(HostId host, std::uint32_t call) {
  const HostCall c = plan().hosts[host].calls[call];
  switch (c.kind()) {
    case HostCallKind::create_stream:
      create_stream(host, call, c.stream());
      break;
    case HostCallKind::destroy_stream:
      destroy_stream(host, call, c.stream());
      break;
    case HostCallKind::launch:
      launch(host, call, c);
      break;
    case HostCallKind::record:
      record(host, call, c);
      break;
    case HostCallKind::wait:
      wait(host, call, c);
      break;
    case HostCallKind::query:
      // A recorded answer orders nothing: a replay makes the same calls whatever the answer is
      // then.
      expect_alive(host, call, c);
      break;
    case HostCallKind::synchronize:
      synchronize(host, call, c);
      break;
    case HostCallKind::send:
    case HostCallKind::receive:
      return exchange(host, c);
    default:
      break;
  }
  return true;
}

void Walk::launch(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  const TaskId task = c.task();
  check_predecessors(host, call, task, lane);
  check_accumulations(host, call, task, lane);
  number_[task] = clocks_.advance(lane);
  lane_[task] = lane;
  launch_order_.push_back(task);
}

void Walk::check_predecessors(HostId host, std::uint32_t call, TaskId task, std::uint32_t lane) {
  for (const TaskId before : index_.graph().predecessors(task)) {
    const bool launched = number_[before] != 0;
    if (launched && clocks_.knows(lane, lane_[before], number_[before])) continue;
    if (index_.launch_of(before) == never) continue;  // reported once, as task_not_launched
    findings_.add(FindingKind::missing_dependency, host, call, [&] {
      const CallSite site = index_.site(index_.launch_of(before));
      const HostCall producer = plan().hosts[site.host].calls[site.call];
      const HostCall consumer = plan().hosts[host].calls[call];
      return fmt::format("{} on {} ({}) is not ordered after {} on {} ({}): {}",
                         index_.graph().name(task),
                         plan().stream_name(consumer.stream()),
                         call_name(plan(), host, call),
                         index_.graph().name(before),
                         plan().stream_name(producer.stream()),
                         call_name(plan(), site.host, site.call),
                         explain_missing_order(index_, before, task));
    });
  }
}

void Walk::check_accumulations(HostId host, std::uint32_t call, TaskId task, std::uint32_t lane) {
  const std::uint32_t end = accumulated_offset_[task.value() + 1];
  for (std::uint32_t i = accumulated_offset_[task.value()]; i < end; ++i) {
    const TensorId tensor = accumulated_[i];
    const TaskId last = last_writer_[tensor];
    last_writer_[tensor] = task;
    if (!last.valid() || clocks_.knows(lane, lane_[last], number_[last])) continue;
    findings_.add(FindingKind::unordered_accumulation, host, call, [&] {
      const CallSite site = index_.site(index_.launch_of(last));
      return fmt::format(
          "{} on {} ({}) and {} on {} ({}) both add into {} and may do so at once: {}",
          index_.graph().name(last),
          plan().stream_name(index_.lane(lane_[last]).stream),
          call_name(plan(), site.host, site.call),
          index_.graph().name(task),
          plan().stream_name(index_.lane(lane).stream),
          call_name(plan(), host, call),
          tensor_name(index_.graph(), tensor),
          explain_missing_order(index_, last, task));
    });
  }
}

void Walk::synchronize(HostId host, std::uint32_t call, HostCall c) {
  if (c.stream().valid()) {
    expect_alive(host, call, c);
    clocks_.synchronize_stream(host, c.stream());
  } else if (c.argument() == HostCall::none) {
    clocks_.synchronize_all(host);
  } else {
    const Clocks::Slot slot = use_event(host, call, c);
    if (slot != never) clocks_.synchronize_event(host, slot);
    end_use(c.event());
  }
}

}  // namespace schedlab::checker
