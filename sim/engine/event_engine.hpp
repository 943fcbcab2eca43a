// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/huge_pages.hpp"
#include "sim/engine/call_source.hpp"
#include "sim/engine/device_side.hpp"
#include "sim/plan/dispatching_policy.hpp"

#include <array>
#include <string>
#include <utility>

namespace schedlab::engine {

/// Runs host programs against the devices, event by event. At one instant: completions, ends of
/// transfers, arrivals, host calls, then the start of waiting kernels.
///
/// A single host thread runs ahead of the devices until a call needs their state (a query, a
/// synchronization, a full queue): its calls carry their time with them. Several host threads
/// advance in the order of their clocks.
///
/// Who instantiates it includes whole_engine.hpp, where all its members are defined.
template <class Source, class Sharing>
class EventEngine {
 public:
  EventEngine(const Problem& problem,
              Source& source,
              Sharing& sharing,
              Scratch& scratch,
              const SimulationOptions& options,
              Trace& trace)
      : problem_(problem),
        source_(source),
        scratch_(scratch),
        options_(options),
        trace_(trace),
        devices_(problem, source.plan().partitions, options_, scratch, sharing, trace_),
        networked_((!source.plan().messages.empty() || scratch.collectives.contend()) &&
                   problem.platform.network.topology != Topology::none),
        single_(source.plan().hosts.size() == 1),
        alone_(single_ && source.plan().messages.empty() && !scratch.collectives.contend()),
        two_threads_(problem.platform.host(HostId{0}).front_end_thread) {
    trace.tasks.clear();
    trace.hosts.clear();
    trace.flows.clear();
    trace.ended = Time{};
    const std::size_t calls = source.plan().call_count();
    reserve_large(scratch.items,
                  calls + (source.plan().graphs.empty() ? 0 : source.plan().task_count()));
    reserve_large(trace_.tasks, problem.graph.task_count());
    if (options.record_hosts) reserve_large(trace_.hosts, calls);
    scratch.last_record.assign(source.plan().event_count, nil);
    scratch.hosts.assign(source.plan().hosts.size(), HostThread{});
    scratch.messages.assign(source.plan().messages.size(), Message{});
    scratch.graphs.assign(source.plan().graphs.size(), GraphState{});
    trace.messages.clear();
    if (!scratch.messages.empty() || networked_) {
      const auto ranks = std::max(problem.platform.device_count(), scratch.hosts.size());
      scratch.transfers.reset(problem.platform.network, static_cast<std::uint32_t>(ranks));
    }
  }

  void run() {
    for (std::uint32_t host = 0; host < scratch_.hosts.size(); ++host) run_host(host);
    if (alone_) {
      for (;;) {
        advance_to(Time::max());
        if (scratch_.resumed.empty()) break;
        scratch_.resumed.clear();
        run_host(0);
      }
    } else {
      while (step()) count_step();
    }
    finish();
  }

  /// The same, where workers take tasks by themselves and the source has no calls.
  void run_dispatched(DispatchingPolicy& policy);

 private:
  void count_step() {
    if ((++steps_ & 0xFFFU) == 0 && stop_requested(options_.stop)) {
      throw Interrupted("the simulation was interrupted");
    }
  }
  bool step();
  void run_host(std::uint32_t index);
  /// The host's call begins at its clock.
  void begin_call(std::uint32_t index);
  /// False: the call is under way and will be continued.
  bool execute(std::uint32_t index);
  // host_calls.hpp
  /// Makes the calls that need no look at the devices, or whose answers are known in advance.
  [[gnu::always_inline]] void run_decided(std::uint32_t index);
  /// The host's next call begins. False: it has none, or sleeps first.
  [[gnu::always_inline]] bool take_call(std::uint32_t index);
  void run_ahead(std::uint32_t index);
  /// Calls that a polling policy has told, and how many of them were made by when.
  struct Polls {
    std::span<const HostCall> calls;
    std::size_t done = 0;
    Time clock{};
    bool idle = false;            ///< the last was a query that found its stream idle
    std::array<Time, 16> ends{};  ///< of the next ones, of which so many are made together
  };
  bool poll_ahead(std::uint32_t index);
  bool poll_some(std::uint32_t index, Polls& polls);
  bool wait_for_idle_stream(std::uint32_t index,
                            std::span<const HostCall> calls,
                            std::size_t& count,
                            const Polls& polls);
  bool queue_has_slot(std::uint32_t index);
  void prepare(std::uint32_t index);
  bool launch(std::uint32_t index);
  bool end_copy(std::uint32_t index);
  bool query(std::uint32_t index);
  bool synchronize(std::uint32_t index);
  // host_messages.hpp
  bool message(std::uint32_t index);
  void post_message(std::uint32_t id, bool sends);
  void move_message(std::uint32_t id);
  void message_has_left(std::uint32_t id);
  void message_arrives(std::uint32_t id);
  void continue_message(std::uint32_t id);
  // graph_calls.hpp
  bool graph_call(std::uint32_t index);
  void expect_pinned(std::uint32_t id) const;
  void end_call(std::uint32_t index);
  // dispatched_run.hpp
  void make_dispatched(const DispatchedCall& made);
  void wait_for_workers(const std::vector<StreamId>& busy);
  // event_engine_end.hpp
  void finish();
  [[noreturn]] void report_deadlock() const;
  [[nodiscard]] std::string message_text(std::uint32_t index) const;
  [[nodiscard]] std::string collective_text(const Stream& stream) const;

  /// Puts the host to sleep until the engine's time is `time`; true if it has come.
  bool caught_up(std::uint32_t index, Time time) {
    HostThread& host = scratch_.hosts[index];
    if (host.caught_up) return true;
    if (alone_ && time >= devices_.now()) {
      advance_to(time);
      host.caught_up = true;
      return true;
    }
    host.state = HostState::catching_up;
    scratch_.arrivals.push(time, phase_host, index);
    return false;
  }
  /// What step() comes to up to the moment at which the only host thread goes on at `time`; kernels
  /// that could start at that very instant still wait. Also returns when what the host waits for
  /// has happened.
  void advance_to(Time time);
  bool block(std::uint32_t index, HostState state, Time since) {
    HostThread& host = scratch_.hosts[index];
    host.state = state;
    host.clock = since;
    return false;
  }
  /// Ends a blocked call at the engine's time.
  void unblock(HostThread& host) {
    const Time now = std::max(host.clock, devices_.now());
    host.blocked += now - host.clock;
    host.clock = now;
    host.released = false;
  }
  /// A host that waits, if there is one, goes on with its call.
  void resume(std::uint32_t host) {
    if (host == nil) return;
    scratch_.hosts[host].released = true;
    scratch_.resumed.push_back(host);
  }
  void open_on_first_use(StreamId id) {
    if (!devices_.is_open(id)) {
      SCHEDLAB_EXPECTS(
          source_.plan().streams.contains(id),
          fmt::format("stream {} of the plan's {}", id.value(), source_.plan().streams.size()));
      devices_.open(id, source_.plan().streams[id]);
    }
    SCHEDLAB_EXPECTS(!devices_.stream(id).destroyed,
                     source_.plan().stream_name(id) + " is used after its destruction");
  }
  /// Calls for which the front end waits until they have been made.
  static bool needs_answer(HostCallKind kind) {
    return kind == HostCallKind::query || kind == HostCallKind::sleep ||
           kind == HostCallKind::synchronize || kind == HostCallKind::send ||
           kind == HostCallKind::receive || kind == HostCallKind::wait_message;
  }
  [[nodiscard]] Duration operator_cost(std::uint32_t index) const {
    return problem_.platform.host(HostId{index}).operator_cost();
  }
  [[nodiscard]] const HostCosts& costs(std::uint32_t index) const {
    return problem_.platform.host(HostId{index}).costs;
  }
  [[nodiscard]] Time arrival(StreamId id, Time submitted) {
    return submitted + devices_.stream(id).launch_latency;
  }

  Problem problem_;
  Source& source_;
  Scratch& scratch_;
  const SimulationOptions& options_;
  Trace& trace_;
  DeviceSide<Sharing> devices_;
  std::uint64_t steps_ = 0;
  std::vector<LinkId> route_;  // scratch of messages
  bool networked_;             // messages, or collectives that contend, take of links
  bool single_;
  bool alone_;        ///< one host thread, no messages: nothing but kernels happens while it waits
  bool two_threads_;  ///< the host's front end has a thread of its own
};

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::step() {
  devices_.drain();
  if (!scratch_.resumed.empty()) {
    for (std::size_t i = 0; i < scratch_.resumed.size(); ++i) run_host(scratch_.resumed[i]);
    scratch_.resumed.clear();
    return true;
  }
  const Time arrival = scratch_.arrivals.next_time();
  // The end of transfers whose rates are outdated is not known yet: no later than now.
  const Time transfer = networked_ ? scratch_.transfers.next_end() : Time::max();
  const bool outdated = networked_ && scratch_.transfers.rates_outdated();
  const Time completion =
      devices_.next_completion(std::min(arrival, outdated ? devices_.now() : transfer));
  if (completion != devices_.now() && arrival != devices_.now() && transfer != devices_.now()) {
    if (devices_.dispatch_needed()) {
      devices_.dispatch();
      return true;
    }
    if (outdated) {
      scratch_.transfers.recompute_rates(devices_.now());
      devices_.follow_links();
      return true;
    }
    const Time next = std::min({completion, arrival, transfer});
    if (next == Time::max()) return false;
    devices_.set_now(next);
  }
  if (completion == devices_.now()) {
    devices_.complete_one();
    return true;
  }
  if (transfer == devices_.now()) {
    message_has_left(scratch_.transfers.pop_end());
    return true;
  }
  const EventQueue::Top top = scratch_.arrivals.pop();
  if (top.phase == phase_arrival) {
    devices_.touch(top.payload);
  } else if (top.phase == phase_message) {
    continue_message(top.payload);
  } else {
    scratch_.hosts[top.payload].caught_up = true;
    run_host(top.payload);
  }
  return true;
}

template <class Source, class Sharing>
// NOLINTNEXTLINE(readability-function-cognitive-complexity): the innermost loop, for speed
void EventEngine<Source, Sharing>::advance_to(Time time) {
  for (;; count_step()) {
    devices_.drain();
    if (!scratch_.resumed.empty()) return;
    const Time arrival = scratch_.arrivals.next_time();
    Time completion = devices_.next_completion(std::min(arrival, time));
    if (completion != devices_.now() && arrival != devices_.now()) {
      if (devices_.now() == time) return;
      if (devices_.dispatch_needed()) {
        devices_.dispatch();
        if (!devices_.quiescent()) continue;
        completion = devices_.next_completion(std::min(arrival, time));
        if (completion == devices_.now() || !devices_.quiescent()) continue;
      }
      const Time next = std::min(completion, arrival);
      if (next > time || next == Time::max()) {
        if (time != Time::max()) devices_.set_now(time);
        return;
      }
      devices_.set_now(next);
    }
    if (completion == devices_.now()) {
      devices_.complete_one();
    } else {  // no other waits there
      devices_.arrive(scratch_.arrivals.pop().payload);
    }
  }
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::run_host(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  for (;;) {
    if (!host.has_call) {
      if (!take_call(index)) return;
    } else if (host.state == HostState::preparing) {
      begin_call(index);
    }
    if (!execute(index)) return;
    end_call(index);
  }
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::begin_call(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  host.caught_up = false;
  host.state = HostState::running;
  host.call_started = host.clock;
  host.blocked = Duration{0};
  host.last_query.reset();
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::end_call(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (options_.record_hosts) {
    trace_.hosts.push_back({.host = HostId{index},
                            .call = host.call_index,
                            .what = host.call,
                            .started = host.call_started,
                            .ended = host.clock,
                            .blocked = host.blocked});
  }
  if (two_threads_ && needs_answer(host.call.kind())) host.front = host.clock;
  ++host.call_index;
  host.has_call = false;
  host.caught_up = false;
  host.state = HostState::running;
}

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::execute(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const HostCall call = host.call;
  switch (call.kind()) {
    case HostCallKind::launch:
      return launch(index);
    case HostCallKind::record:
      open_on_first_use(call.stream());
      host.clock += costs(index).record;
      devices_.enqueue_record(call, arrival(call.stream(), host.clock));
      return true;
    case HostCallKind::wait:
      open_on_first_use(call.stream());
      host.clock += costs(index).wait;
      devices_.enqueue_wait(call, arrival(call.stream(), host.clock));
      return true;
    case HostCallKind::query:
      return query(index);
    case HostCallKind::sleep:
      host.clock += call.sleep_time() + costs(index).oversleep;
      host.blocked += call.sleep_time() + costs(index).oversleep;
      return true;
    case HostCallKind::synchronize:
      return synchronize(index);
    case HostCallKind::create_stream:
      SCHEDLAB_EXPECTS(!devices_.is_usable(call.stream()),
                       fmt::format("stream {} is created while it exists", call.stream().value()));
      // Created again it keeps its connection and is behind what was in it.
      if (devices_.is_open(call.stream())) devices_.stream(call.stream()).destroyed = false;
      open_on_first_use(call.stream());
      host.clock += costs(index).create_stream;
      return true;
    case HostCallKind::destroy_stream:
      open_on_first_use(call.stream());
      devices_.stream(call.stream()).destroyed = true;
      host.clock += costs(index).destroy_stream;
      return true;
    case HostCallKind::send:
    case HostCallKind::receive:
    case HostCallKind::isend:
    case HostCallKind::irecv:
    case HostCallKind::wait_message:
      return message(index);
    case HostCallKind::graph_load:
    case HostCallKind::graph_launch:
      return graph_call(index);
  }
  return true;
}

}  // namespace schedlab::engine
