// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/in_order.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::uint32_t not_opened = 0xFFFFFFFFU;

}  // namespace

struct InOrderSweep::Run {
  const Problem& problem;
  const Plan& plan;
  const Host& host;
  const HostCosts& costs;
  Trace& trace;
  bool record_flows;
  Time clock{};
  Time last_activity{};  // of any stream
  Duration blocked{0};   // within the current call
};

InOrderSweep::Stream& InOrderSweep::open(Run& run, StreamId id) {
  SCHEDLAB_EXPECTS(id.value() < streams_.size(),
                   fmt::format("stream {} of the plan's {}", id.value(), streams_.size()));
  Stream& stream = streams_[id.value()];
  if (stream.open) {
    SCHEDLAB_EXPECTS(!stream.destroyed,
                     run.plan.stream_name(id) + " is used after its destruction");
    return stream;
  }
  stream.open = true;
  stream.device = run.plan.streams[id].device;
  SCHEDLAB_EXPECTS(run.problem.platform.devices.contains(stream.device),
                   fmt::format("device {} of stream {}", stream.device.value(), id.value()));
  const std::uint32_t limit = run.problem.platform.devices[stream.device].connections;
  const std::uint32_t number = opened_[stream.device.value()]++;
  std::uint32_t& first = first_connection_[stream.device.value()];
  if (limit == 0) {
    stream.connection = static_cast<std::uint32_t>(connections_.size());
    connections_.emplace_back();
    return stream;
  }
  if (first == not_opened) {
    first = static_cast<std::uint32_t>(connections_.size());
    connections_.resize(connections_.size() + limit);
  }
  stream.connection = first + number % limit;
  return stream;
}

inline void InOrderSweep::launch(Run& run, HostCall call) {
  Stream& stream = open(run, call.stream());
  const Device& device = run.problem.platform.devices[stream.device];
  SCHEDLAB_EXPECTS(call.task().value() < run.problem.costs.task_count(),
                   fmt::format("launch of task {}", call.task().value()));
  if (const std::uint32_t depth = run.host.launch_queue_depth; depth != 0) {
    auto& ring = recent_ends_[call.stream().value()];
    if (ring.empty()) ring.resize(depth);
    const Time room = stream.tasks < depth ? Time{} : ring[stream.tasks % depth];
    if (room > run.clock) {
      run.blocked += room - run.clock;
      run.clock = room;
    }
  }
  if (run.costs.launch != Duration{0}) {
    run.clock += run.costs.launch * run.problem.costs.entry(call.task(), stream.device).launches;
  }
  Time& connection = connections_[stream.connection];
  Time start = std::max(run.clock + device.launch_latency, connection);
  if (stream.tasks != 0) start = std::max(start, stream.free_from);
  const Time end = start + run.problem.costs.duration(call.task(), stream.device);
  connection = std::max(start, stream.last_item);
  run.trace.tasks.push_back({.task = call.task(),
                             .stream = call.stream(),
                             .host = HostId{0},
                             .device = stream.device,
                             .submitted = run.clock,
                             .started = start,
                             .ended = end});
  if (run.host.launch_queue_depth != 0) {
    recent_ends_[call.stream().value()][stream.tasks % run.host.launch_queue_depth] = end;
  }
  ++stream.tasks;
  stream.last_end = end;
  stream.free_from = end + device.stream_gap;
  stream.last_item = end;
  run.last_activity = std::max(run.last_activity, end);
}

inline void InOrderSweep::record(Run& run, HostCall call) {
  Stream& stream = open(run, call.stream());
  run.clock += run.costs.record;
  Time& connection = connections_[stream.connection];
  const Duration latency = run.problem.platform.devices[stream.device].launch_latency;
  const Time done = std::max({run.clock + latency, connection, stream.last_end});
  connection = done;
  stream.last_item = done;
  if (call.event().value() >= events_.size()) events_.resize(call.event().value() + 1);
  events_[call.event().value()] = {done, call.stream()};
  run.last_activity = std::max(run.last_activity, done);
}

inline void InOrderSweep::wait(Run& run, HostCall call) {
  Stream& stream = open(run, call.stream());
  run.clock += run.costs.wait;
  const Device& device = run.problem.platform.devices[stream.device];
  Time& connection = connections_[stream.connection];
  Time passed = std::max({run.clock + device.launch_latency, connection, stream.last_end});
  const std::uint32_t event = call.event().value();
  if (event < events_.size() && events_[event].stream.valid()) {
    const Event& e = events_[event];
    if (e.stream == call.stream()) {
      passed = std::max(passed, e.completed);
    } else {
      passed = std::max(passed, e.completed + device.event_latency);
      if (run.record_flows) {
        run.trace.flows.push_back({.event = call.event(),
                                   .from = e.stream,
                                   .to = call.stream(),
                                   .recorded = e.completed,
                                   .released = passed});
      }
    }
  }
  connection = passed;
  stream.last_item = passed;
  run.last_activity = std::max(run.last_activity, passed);
}

void InOrderSweep::synchronize(Run& run, HostCall call) {
  run.clock += run.costs.synchronize;
  Time until{};
  if (call.stream().valid()) {
    until = open(run, call.stream()).last_item;
  } else if (call.event().valid()) {
    const std::uint32_t event = call.event().value();
    if (event < events_.size() && events_[event].stream.valid()) until = events_[event].completed;
  } else {
    until = run.last_activity;
  }
  if (until <= run.clock) return;
  run.blocked += until - run.clock;
  run.clock = until + run.costs.wake_up;
}

inline void InOrderSweep::execute(Run& run, HostCall& call) {
  switch (call.kind()) {
    case HostCallKind::launch:
      return launch(run, call);
    case HostCallKind::record:
      return record(run, call);
    case HostCallKind::wait:
      return wait(run, call);
    case HostCallKind::query:
      run.clock += run.costs.query;
      call =
          HostCall::answered_query(call.stream(), open(run, call.stream()).last_item <= run.clock);
      return;
    case HostCallKind::sleep:
      run.clock += call.sleep_time();
      run.blocked += call.sleep_time();
      return;
    case HostCallKind::synchronize:
      return synchronize(run, call);
    case HostCallKind::create_stream:
      SCHEDLAB_EXPECTS(
          call.stream().value() < streams_.size() && !streams_[call.stream().value()].open,
          fmt::format("stream {} is created while it exists", call.stream().value()));
      open(run, call.stream());
      run.clock += run.costs.create_stream;
      return;
    case HostCallKind::destroy_stream:
      open(run, call.stream()).destroyed = true;
      run.clock += run.costs.destroy_stream;
      return;
    default:
      throw InfeasibleError(fmt::format("this engine does not run {} calls yet; use eager launches",
                                        to_string(call.kind())));
  }
}

void InOrderSweep::run_into(const Problem& problem,
                            const Plan& plan,
                            const SimulationOptions& options,
                            Trace& trace) {
  trace.tasks.clear();
  trace.hosts.clear();
  trace.flows.clear();
  trace.tasks.reserve(problem.graph.task_count());
  const std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  if (options.record_hosts) trace.hosts.reserve(calls.size());
  streams_.assign(plan.streams.size(), Stream{});
  events_.assign(plan.event_count, Event{});
  connections_.clear();
  recent_ends_.assign(
      problem.platform.host(HostId{0}).launch_queue_depth == 0 ? 0 : plan.streams.size(), {});
  opened_.assign(problem.platform.devices.size(), 0U);
  first_connection_.assign(problem.platform.devices.size(), not_opened);
  const Host& host = problem.platform.host(HostId{0});
  Run run{problem, plan, host, host.costs, trace, options.record_flows};
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    HostCall call = calls[i];
    if (!options.record_hosts) {
      execute(run, call);
      continue;
    }
    const Time started = run.clock;
    run.blocked = Duration{0};
    execute(run, call);
    trace.hosts.push_back({.host = HostId{0},
                           .call = i,
                           .what = call,
                           .started = started,
                           .ended = run.clock,
                           .blocked = run.blocked});
  }
  Time ended = run.clock;
  for (const Stream& stream : streams_) ended = std::max(ended, stream.last_end);
  trace.ended = ended;
}

Trace InOrderSweep::run(const Problem& problem,
                        const Plan& plan,
                        const SimulationOptions& options) {
  Trace trace;
  run_into(problem, plan, options, trace);
  return trace;
}

std::size_t InOrderSweep::memory_bytes() const {
  std::size_t bytes = streams_.capacity() * sizeof(Stream) + events_.capacity() * sizeof(Event) +
                      connections_.capacity() * sizeof(Time);
  for (const auto& ring : recent_ends_) bytes += ring.capacity() * sizeof(Time);
  return bytes;
}

}  // namespace schedlab
