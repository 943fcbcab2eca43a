// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_walk.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::checker {

Walk::Walk(const PlanIndex& index, FindingList& findings, bool exact)
    : index_(index),
      findings_(findings),
      clocks_(index, exact),
      number_(index.graph().task_count(), 0),
      lane_(index.graph().task_count(), 0),
      last_launch_(index.lane_count(), 0),
      events_(index.plan().event_count),
      streams_(index.plan().streams.size()),
      graphs_(index.plan().graphs.size()),
      next_call_(index.plan().hosts.size(), 0),
      messages_(index.plan().messages.size()) {
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
  report_unmatched();
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
    case HostCallKind::isend:
    case HostCallKind::irecv:
    case HostCallKind::wait_message:
      return message(host, c);
    case HostCallKind::graph_load:
      load_graph(host, call, c);
      break;
    case HostCallKind::graph_launch:
      launch_graph(host, call, c);
      break;
    default:
      break;
  }
  return true;
}

void Walk::launch(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  const TaskId task = c.task();
  const auto ordered = [&](TaskId before) {
    return number_[before] != 0 && clocks_.knows(lane, lane_[before], number_[before]);
  };
  check_predecessors(host, call, task, ordered);
  check_accumulations(host, call, task, ordered);
  number_[task] = clocks_.advance(lane);
  last_launch_[lane] = number_[task];
  lane_[task] = lane;
  launch_order_.push_back(task);
}

void Walk::report_missing_order(HostId host, std::uint32_t call, TaskId task, TaskId before) {
  unordered_ = true;
  findings_.add(FindingKind::missing_dependency, host, call, [&] {
    const CallSite site = index_.site(index_.launch_of(before));
    return fmt::format("{} on {} ({}) is not ordered after {} on {} ({}): {}",
                       index_.graph().name(task),
                       plan().stream_name(index_.stream_of(task)),
                       call_name(plan(), host, call),
                       index_.graph().name(before),
                       plan().stream_name(index_.stream_of(before)),
                       call_name(plan(), site.host, site.call),
                       explain_missing_order(index_, before, task));
  });
}

void Walk::report_unordered(
    HostId host, std::uint32_t call, TaskId task, TaskId last, TensorId tensor) {
  unordered_ = true;
  findings_.add(FindingKind::unordered_accumulation, host, call, [&] {
    const CallSite site = index_.site(index_.launch_of(last));
    return fmt::format("{} on {} ({}) and {} on {} ({}) both add into {} and may do so at once: {}",
                       index_.graph().name(last),
                       plan().stream_name(index_.stream_of(last)),
                       call_name(plan(), site.host, site.call),
                       index_.graph().name(task),
                       plan().stream_name(index_.stream_of(task)),
                       call_name(plan(), host, call),
                       tensor_name(index_.graph(), tensor),
                       explain_missing_order(index_, last, task));
  });
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
