// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_walk.hpp"

#include "sim/plan/check/plan_check_paths.hpp"

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

void Walk::record(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  if (!event_uses_.empty() && index_.uses(c.event()) > 0) check_record_race(host, call, c.event());
  // To blocking streams a record in the legacy default stream is as good as a task in it.
  if (index_.is_legacy(c.stream())) clocks_.advance(lane);
  EventState& event = events_[c.event()];
  if (event.slot != never) clocks_.release(event.slot);
  event.slot = event.uses_left > 0 ? clocks_.save(lane) : never;
  event.host = host;
  event.call = call;
}

void Walk::check_record_race(HostId host, std::uint32_t call, EventId event) {
  const EventState& state = events_[event];
  if (state.host.valid() && !clocks_.made_before(host, state.host, state.call)) {
    unordered_ = true;
    findings_.add(FindingKind::event_waited_before_record, host, call, [&] {
      return fmt::format(
          "event {} is recorded by {} and by {}, and no message orders the two: which one a wait "
          "meets "
          "is a matter of chance",
          event.value(),
          call_name(plan(), state.host, state.call),
          call_name(plan(), host, call));
    });
  }
  for (const Use& use : event_uses_[event.value()]) {
    if (clocks_.made_before(host, use.host, use.call)) continue;
    unordered_ = true;
    findings_.add(FindingKind::event_waited_before_record, host, call, [&] {
      return fmt::format(
          "{} records event {} again while {} may still be about to wait for the earlier record: "
          "no "
          "message orders the two",
          call_name(plan(), host, call),
          event.value(),
          call_name(plan(), use.host, use.call));
    });
  }
  event_uses_[event.value()].clear();
}

void Walk::wait(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  const Clocks::Slot slot = use_event(host, call, c);
  if (slot != never) clocks_.wait(lane, slot);
  // A wait is an operation of its own: what it knows must not be taken for known before it.
  clocks_.advance(lane);
  end_use(c.event());
}

Clocks::Slot Walk::use_event(HostId host, std::uint32_t call, HostCall c) {
  const EventState& event = events_[c.event()];
  if (!event.host.valid() || !clocks_.made_before(host, event.host, event.call)) {
    report_unrecorded(host, call, c);
    return never;
  }
  if (!event_uses_.empty()) event_uses_[c.event().value()].push_back({host, call});
  return event.slot;
}

void Walk::report_unrecorded(HostId host, std::uint32_t call, HostCall c) {
  const std::uint32_t first = index_.first_record(c.event());
  unordered_ = true;
  const auto who = [&] {
    return c.kind() == HostCallKind::wait
               ? fmt::format(
                     "{} ({})", plan().stream_name(c.stream()), call_name(plan(), host, call))
               : call_name(plan(), host, call);
  };
  if (first == never) {
    findings_.add(FindingKind::event_never_recorded, host, call, [&] {
      return fmt::format("{} waits for event {}, which no call records: the wait has no effect",
                         who(),
                         c.event().value());
    });
    return;
  }
  findings_.add(FindingKind::event_waited_before_record, host, call, [&] {
    const EventState& event = events_[c.event()];
    const CallSite site =
        event.host.valid() ? CallSite{event.host, event.call} : index_.site(first);
    const std::string_view why =
        site.host == host ? "only later" : "by another host, and no message puts the record before";
    return fmt::format("{} waits for event {}, which is recorded {} ({}): the wait {} no effect",
                       who(),
                       c.event().value(),
                       why,
                       call_name(plan(), site.host, site.call),
                       site.host == host ? "has" : "may have");
  });
}

void Walk::end_use(EventId id) {
  EventState& event = events_[id];
  --event.uses_left;
  if (event.uses_left > 0 || event.slot == never) return;
  clocks_.release(event.slot);
  event.slot = never;
}

void Walk::create_stream(HostId host, std::uint32_t call, StreamId stream) {
  StreamState& state = streams_[stream];
  if (state.alive) {
    findings_.add(FindingKind::malformed, host, call, [&] {
      return fmt::format("{} creates {}, which exists already since {}",
                         call_name(plan(), host, call),
                         plan().stream_name(stream),
                         call_name(plan(), state.host, state.call));
    });
  }
  if (!state.alive && state.host.valid()) check_created_again(host, call, stream);
  state = {true, host, call};
}

/// On a device the new stream is not behind what was in the old one.
void Walk::check_created_again(HostId host, std::uint32_t call, StreamId stream) {
  for (std::uint32_t lane = index_.first_lane(stream); lane < index_.last_lane(stream); ++lane) {
    if (clocks_.completed(host, lane, last_launch_[lane])) continue;
    unordered_ = true;
    findings_.add(FindingKind::stream_not_alive, host, call, [&] {
      return fmt::format(
          "{} creates {} again, whose work before its destruction may still run: the "
          "host does not wait for that with a synchronize",
          call_name(plan(), host, call),
          plan().stream_name(stream));
    });
  }
}

void Walk::destroy_stream(HostId host, std::uint32_t call, StreamId stream) {
  expect_alive(host, call, HostCall::destroy_stream(stream));
  for (std::uint32_t lane = index_.first_lane(stream); lane < index_.last_lane(stream); ++lane) {
    if (clocks_.posted_before(host, lane)) continue;
    unordered_ = true;
    findings_.add(FindingKind::stream_not_alive, host, call, [&] {
      return fmt::format("{} destroys {} while {} may still use it: no message orders the two",
                         call_name(plan(), host, call),
                         plan().stream_name(stream),
                         host_name(plan(), index_.lane(lane).host));
    });
  }
  streams_[stream] = {false, host, call};
}

/// Unless what another host did to the stream is surely done by now.
void Walk::report_not_alive(HostId host, std::uint32_t call, HostCall c) {
  const StreamState& state = streams_[c.stream()];
  const bool ordered = !state.host.valid() || clocks_.made_before(host, state.host, state.call);
  if (state.alive && ordered) return;
  unordered_ = true;
  findings_.add(FindingKind::stream_not_alive, host, call, [&] {
    std::string why = "which is not created before";
    if (state.host.valid()) {
      why = fmt::format("which {} by {}{}",
                        state.alive ? "is created" : "was destroyed",
                        call_name(plan(), state.host, state.call),
                        ordered ? "" : ", and no message orders the two");
    }
    return fmt::format("{} ({}) uses {}, {}",
                       call_name(plan(), host, call),
                       to_string(c.kind()),
                       plan().stream_name(c.stream()),
                       why);
  });
}

void Walk::load_graph(HostId host, std::uint32_t call, HostCall c) {
  GraphUse& use = graphs_[c.graph()];
  use.load_host = host;
  use.load_call = call;
}

void Walk::expect_loaded(HostId host, std::uint32_t call, HostCall c) {
  const GraphUse& use = graphs_[c.graph()];
  if (!index_.loaded_by_plan(c.graph())) return;
  if (use.load_host.valid() && clocks_.made_before(host, use.load_host, use.load_call)) return;
  unordered_ = true;
  findings_.add(FindingKind::graph_not_loaded, host, call, [&] {
    return fmt::format("{} (graph_launch) launches {}, which is {}",
                       call_name(plan(), host, call),
                       plan().graph_name(c.graph()),
                       use.load_host.valid()
                           ? fmt::format("loaded by {}, and no message orders the two",
                                         call_name(plan(), use.load_host, use.load_call))
                           : std::string{"not loaded before"});
  });
}

void Walk::launch_graph(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  expect_loaded(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  GraphUse& use = graphs_[c.graph()];
  if (use.completed != never) {  // its launch before
    clocks_.wait(lane, use.completed);
    clocks_.release(use.completed);
    use.completed = never;
  }
  const DeviceGraph& graph = plan().graphs[c.graph()];
  const std::uint32_t row = use.launches++;
  const auto tasks = graph.tasks(row);
  if (node_of_.empty()) node_of_.resize(index_.graph().task_count());
  GraphPaths paths{graph};
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    paths.advance();
    const TaskId task = tasks[node];
    const auto ordered = [&](TaskId before) {
      const Node& other = node_of_[before];
      const bool here = other.call == index_.number(host, call);
      if (here) return other.node < node && paths.reaches(other.node);
      return number_[before] != 0 && clocks_.knows(lane, lane_[before], number_[before]);
    };
    check_predecessors(host, call, task, ordered);
    check_accumulations(host, call, task, ordered);
    node_of_[task] = {index_.number(host, call), node};
    launch_order_.push_back(task);
  }
  const std::uint32_t number = clocks_.advance(lane);
  last_launch_[lane] = number;
  for (const TaskId task : tasks) {
    number_[task] = number;
    lane_[task] = lane;
  }
  if (use.launches < graph.launch_count()) use.completed = clocks_.save(lane);
}

void Walk::post(HostId host, std::uint32_t id, bool sends) {
  MessageState& state = messages_[id];
  const bool eager = is_eager(plan().messages[id]);
  (sends ? state.send_posted : state.receive_posted) = true;
  if (sends) {
    state.from_sender = clocks_.save_host(host);
  } else if (!eager) {
    state.from_receiver = clocks_.save_host(host);
  }
  HostId& waiting = sends ? state.waiting_receiver : state.waiting_sender;
  if (waiting.valid()) ready_.push_back(waiting);
  waiting = HostId::none();
}

bool Walk::message(HostId host, HostCall c) {
  const std::uint32_t id = c.message();
  const MessageSpec& spec = plan().messages[id];
  MessageState& state = messages_[id];
  const HostCallKind kind = c.kind();
  const bool posts = kind != HostCallKind::wait_message;
  const bool sends =
      kind == HostCallKind::send || kind == HostCallKind::isend || (!posts && spec.from == host);
  // A host that has waited comes back to the same call.
  if (posts && !(sends ? state.send_posted : state.receive_posted)) post(host, id, sends);
  if (kind == HostCallKind::isend || kind == HostCallKind::irecv) return true;
  if (spec.one_sided == OneSided::get || (sends && is_eager(spec))) return true;
  if (!(sends ? state.receive_posted : state.send_posted)) {
    (sends ? state.waiting_sender : state.waiting_receiver) = host;
    return false;
  }
  Clocks::Slot& snapshot = sends ? state.from_receiver : state.from_sender;
  if (snapshot != never) {
    clocks_.learn_from(host, snapshot);
    clocks_.release_host(snapshot);
    snapshot = never;
  }
  return true;
}

void Walk::report_unmatched() {
  for (std::uint32_t id = 0; id < messages_.size(); ++id) {
    const MessageState& state = messages_[id];
    if (state.send_posted == state.receive_posted) continue;
    if (plan().messages[id].one_sided == OneSided::get) continue;
    const HostId host = state.send_posted ? plan().messages[id].from : plan().messages[id].to;
    const HostId other = state.send_posted ? plan().messages[id].to : plan().messages[id].from;
    // A host that stands somewhere has been reported, or waits for one that has been.
    if (next_call_[other] < plan().hosts[other].calls.size()) continue;
    if (next_call_[host] < plan().hosts[host].calls.size()) continue;
    findings_.add(FindingKind::malformed, host, next_call_[host], [&] {
      return fmt::format("{} {} message {}, which {} never {}",
                         host_name(plan(), host),
                         state.send_posted ? "sends" : "receives",
                         id,
                         host_name(plan(), other),
                         state.send_posted ? "receives" : "sends");
    });
  }
}

HostId Walk::other_end(HostId host) const {
  const HostCall call = plan().hosts[host].calls[next_call_[host]];
  const MessageSpec& message = plan().messages[call.message()];
  return message.from == host ? message.to : message.from;
}

std::string Walk::blocked_text(HostId host) const {
  const HostCall call = plan().hosts[host].calls[next_call_[host]];
  return fmt::format("{} (call {}) waits in {} of message {} for {}",
                     host_name(plan(), host),
                     next_call_[host],
                     to_string(call.kind()),
                     call.message(),
                     host_name(plan(), other_end(host)));
}

void Walk::report_deadlocks() {
  // Every blocked host waits for exactly one other: following that leads into a cycle or to a host
  // that has ended. One finding for each such end; hosts that merely wait for it are counted.
  const auto blocked = [&](HostId host) {
    return next_call_[host] < plan().hosts[host].calls.size();
  };
  IdVector<HostId, std::uint32_t> visit(plan().hosts.size(), 0);
  std::uint32_t round = 0;
  for (const HostId start : plan().hosts.ids()) {
    if (!blocked(start) || visit[start] != 0) continue;
    ++round;
    HostId host = start;
    while (blocked(host) && visit[host] == 0) {
      visit[host] = round;
      if (!blocked(other_end(host))) break;
      host = other_end(host);
    }
    if (visit[host] != round) continue;  // leads into an end that is already reported
    findings_.add(FindingKind::deadlock, host, next_call_[host], [&] {
      std::string text = blocked_text(host);
      HostId next = other_end(host);
      for (; next != host && blocked(next); next = other_end(next)) {
        text += ", which " + blocked_text(next).substr(host_name(plan(), next).size() + 1);
      }
      if (!blocked(next)) text += ", which has ended without it";
      return text + "; calls after this are not checked";
    });
  }
}

}  // namespace schedlab::checker
