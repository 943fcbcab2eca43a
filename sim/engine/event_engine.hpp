// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/call_source.hpp"
#include "sim/engine/device_side.hpp"

#include <string>
#include <utility>

namespace schedlab::engine {

/// Runs host programs against the devices, event by event. At one instant: completions, arrivals,
/// host calls, then the start of waiting kernels.
///
/// A single host thread runs ahead of the devices until a call needs their state (a query, a
/// synchronization, a full queue): its calls carry their time with them. Several host threads
/// advance in the order of their clocks.
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
        devices_(problem, options_, scratch, sharing, trace_),
        single_(source.plan().hosts.size() == 1) {
    trace.tasks.clear();
    trace.hosts.clear();
    trace.flows.clear();
    trace.ended = Time{};
    const std::size_t calls = source.plan().call_count();
    scratch.items.reserve(calls);
    trace_.tasks.reserve(problem.graph.task_count());
    if (options.record_hosts) trace_.hosts.reserve(calls);
    scratch.hosts.assign(source.plan().hosts.size(), HostThread{});
    scratch.messages.assign(source.plan().messages.size(), Message{});
  }

  void run() {
    for (std::uint32_t host = 0; host < scratch_.hosts.size(); ++host) run_host(host);
    std::uint64_t steps = 0;
    while (step()) {
      if ((++steps & 0xFFFU) == 0 && stop_requested(options_.stop)) {
        throw Interrupted("the simulation was interrupted");
      }
    }
    finish();
  }

 private:
  bool step();
  void run_host(std::uint32_t index);
  void run_ahead(std::uint32_t index);
  /// False: the call is under way and will be continued.
  bool execute(std::uint32_t index);
  bool launch(std::uint32_t index);
  bool query(std::uint32_t index);
  bool synchronize(std::uint32_t index);
  bool message(std::uint32_t index);
  void end_call(std::uint32_t index);
  void finish();
  [[noreturn]] void report_deadlock() const;

  /// Puts the host to sleep until the engine's time is `time`; true if it has come.
  bool caught_up(std::uint32_t index, Time time) {
    HostThread& host = scratch_.hosts[index];
    if (host.caught_up) return true;
    host.state = HostState::catching_up;
    scratch_.arrivals.push(time, phase_host, index);
    return false;
  }
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
  bool single_;
};

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::step() {
  devices_.drain();
  if (!scratch_.resumed.empty()) {
    for (std::size_t i = 0; i < scratch_.resumed.size(); ++i) run_host(scratch_.resumed[i]);
    scratch_.resumed.clear();
    return true;
  }
  const Time completion = devices_.next_completion();
  const Time arrival = scratch_.arrivals.next_time();
  if (completion != devices_.now() && arrival != devices_.now()) {
    if (devices_.dispatch_needed()) {
      devices_.dispatch();
      return true;
    }
    const Time next = std::min(completion, arrival);
    if (next == Time::max()) return false;
    devices_.set_now(next);
  }
  if (completion == devices_.now()) {
    devices_.complete_one();
    return true;
  }
  const EventQueue::Top top = scratch_.arrivals.pop();
  if (top.phase == phase_arrival) {
    devices_.touch(top.payload);
  } else {
    scratch_.hosts[top.payload].caught_up = true;
    run_host(top.payload);
  }
  return true;
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::run_host(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  for (;;) {
    if (!host.has_call) {
      if constexpr (requires { source_.rest(HostId{index}); }) {
        if (single_) run_ahead(index);
      }
      if (!single_ && host.clock > devices_.now() && !caught_up(index, host.clock)) return;
      host.caught_up = false;
      host.state = HostState::running;
      const std::optional<HostCall> call =
          source_.next(HostId{index}, HostView{host.clock, host.last_query});
      if (!call) {
        host.state = HostState::done;
        return;
      }
      host.call = *call;
      host.has_call = true;
      host.call_started = host.clock;
      host.blocked = Duration{0};
      host.last_query.reset();
    }
    if (!execute(index)) return;
    end_call(index);
  }
}

/// Makes the launches, records and waits that come next in a plan without looking at each call
/// twice; stops before the first call that needs anything else. Of a single host thread only.
template <class Source, class Sharing>
void EventEngine<Source, Sharing>::run_ahead(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const HostCosts cost = costs(index);
  const std::uint32_t depth = problem_.platform.host(HostId{index}).launch_queue_depth;
  const std::size_t tasks = problem_.costs.task_count();
  const auto calls = source_.rest(HostId{index});
  Time clock = host.clock;
  std::size_t done = 0;
  for (const HostCall call : calls) {
    if (!devices_.is_usable(call.stream())) break;
    const Stream& stream = devices_.stream(call.stream());
    const Time started = clock;
    if (call.kind() == HostCallKind::launch) {
      if (call.task().value() >= tasks || (depth != 0 && stream.pending_tasks >= depth)) break;
      if (cost.launch != Duration{0}) {
        clock += cost.launch * problem_.costs.entry(call.task(), stream.device).launches;
      }
      devices_.enqueue_launch(call, clock, clock + stream.launch_latency, HostId{index});
    } else if (call.kind() == HostCallKind::record) {
      clock += cost.record;
      devices_.enqueue_record(call, clock + stream.launch_latency);
    } else if (call.kind() == HostCallKind::wait) {
      clock += cost.wait;
      devices_.enqueue_wait(call, clock + stream.launch_latency);
    } else {
      break;
    }
    if (options_.record_hosts) {
      trace_.hosts.push_back({.host = HostId{index},
                              .call = host.call_index + static_cast<std::uint32_t>(done),
                              .what = call,
                              .started = started,
                              .ended = clock,
                              .blocked = Duration{0}});
    }
    ++done;
  }
  if (done == 0) return;
  host.clock = clock;
  host.call_index += static_cast<std::uint32_t>(done);
  host.last_query.reset();
  source_.skip(HostId{index}, done);
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
      host.clock += call.sleep_time();
      host.blocked += call.sleep_time();
      return true;
    case HostCallKind::synchronize:
      return synchronize(index);
    case HostCallKind::create_stream:
      SCHEDLAB_EXPECTS(!devices_.is_open(call.stream()),
                       fmt::format("stream {} is created while it exists", call.stream().value()));
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
      return message(index);
    case HostCallKind::graph_load:
    case HostCallKind::graph_launch:
      break;
  }
  throw InfeasibleError(fmt::format("this engine does not run {} calls yet; use eager launches",
                                    to_string(call.kind())));
}

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::launch(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const StreamId id = host.call.stream();
  open_on_first_use(id);
  SCHEDLAB_EXPECTS(
      host.call.task().value() < problem_.costs.task_count(),
      fmt::format(
          "launch of task {} of {}", host.call.task().value(), problem_.costs.task_count()));
  if (host.released) unblock(host);
  Stream& stream = devices_.stream(id);
  const std::uint32_t depth = problem_.platform.host(HostId{index}).launch_queue_depth;
  if (depth != 0 && stream.pending_tasks >= depth) {
    host.next_waiter = stream.full_waiter;
    stream.full_waiter = index;
    return block(index, HostState::queue_full, host.clock);
  }
  const auto& entry = problem_.costs.entry(host.call.task(), stream.device);
  host.clock += costs(index).launch * entry.launches;
  devices_.enqueue_launch(host.call, host.clock, arrival(id, host.clock), HostId{index});
  return true;
}

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::query(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  open_on_first_use(host.call.stream());
  const Time end = host.call_started + costs(index).query;
  if (!caught_up(index, end)) return false;
  const bool idle = devices_.stream(host.call.stream()).pending_items == 0;
  host.clock = end;
  host.last_query = idle;
  host.call = HostCall::answered_query(host.call.stream(), idle);
  source_.answer(HostId{index}, idle);
  return true;
}

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::synchronize(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (host.released) {
    unblock(host);
    host.clock += costs(index).wake_up;
    return true;
  }
  const Time end = host.call_started + costs(index).synchronize;
  if (!caught_up(index, end)) return false;
  const HostCall call = host.call;
  if (call.stream().valid()) {
    open_on_first_use(call.stream());
    Stream& stream = devices_.stream(call.stream());
    if (stream.pending_items != 0) {
      host.next_waiter = stream.idle_waiter;
      stream.idle_waiter = index;
      return block(index, HostState::synchronizing, end);
    }
  } else if (call.event().valid()) {
    const std::uint32_t record = devices_.last_record(call.event());
    if (!devices_.record_completed(record)) {
      devices_.wait_for_record(record, index);
      return block(index, HostState::synchronizing, end);
    }
  } else if (devices_.pending() != 0) {
    devices_.wait_for_idle(index);
    return block(index, HostState::synchronizing, end);
  }
  host.clock = end;
  return true;
}

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::message(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (host.released) {
    unblock(host);
    return true;
  }
  const bool sends = host.call.kind() == HostCallKind::send;
  const Time end = host.call_started + (sends ? costs(index).send : costs(index).receive);
  if (!caught_up(index, end)) return false;
  SCHEDLAB_EXPECTS(host.call.message() < scratch_.messages.size(),
                   fmt::format("message {}", host.call.message()));
  Message& m = scratch_.messages[host.call.message()];
  const std::uint32_t other = sends ? m.receiver : m.sender;
  if (other == nil) {
    (sends ? m.sender : m.receiver) = index;
    return block(index, HostState::message, end);
  }
  m = Message{};
  scratch_.hosts[other].released = true;
  scratch_.resumed.push_back(other);
  host.clock = end;
  return true;
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::finish() {
  bool stuck = devices_.pending() != 0;
  for (const HostThread& host : scratch_.hosts) {
    stuck = stuck || host.state != HostState::done;
    trace_.ended = std::max(trace_.ended, host.clock);
  }
  if (stuck) report_deadlock();
  trace_.ended = std::max(trace_.ended, devices_.last_end());
  if (!single_) {
    std::stable_sort(trace_.tasks.begin(),
                     trace_.tasks.end(),
                     [](const TaskSpan& a, const TaskSpan& b) { return a.host < b.host; });
    std::stable_sort(trace_.hosts.begin(),
                     trace_.hosts.end(),
                     [](const HostSpan& a, const HostSpan& b) { return a.host < b.host; });
  }
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::report_deadlock() const {
  constexpr std::size_t most_lines = 24;
  const Plan& plan = source_.plan();
  std::string text = fmt::format("the run cannot go on after {:.3f} us; what everybody waits for:",
                                 to_us(devices_.now()));
  std::size_t lines = 0;
  const auto add = [&](const std::string& line) {
    if (++lines <= most_lines) text += "\n  " + line;
  };
  for (std::uint32_t h = 0; h < scratch_.hosts.size(); ++h) {
    const HostThread& host = scratch_.hosts[h];
    if (host.state == HostState::done) continue;
    const std::string& name = plan.hosts[HostId{h}].name;
    add(fmt::format(
        "host {} \"{}\": in call {} ({})", h, name, host.call_index, to_string(host.call.kind())));
  }
  for (std::uint32_t s = 0; s < scratch_.streams.size(); ++s) {
    const Stream& stream = scratch_.streams[s];
    if (stream.pending_items == 0) continue;
    add(fmt::format("{}: {} calls pending, {} of them tasks",
                    plan.stream_name(StreamId{s}),
                    stream.pending_items,
                    stream.pending_tasks));
  }
  if (lines > most_lines) text += fmt::format("\n  ... and {} more", lines - most_lines);
  throw InfeasibleError(text);
}

}  // namespace schedlab::engine
