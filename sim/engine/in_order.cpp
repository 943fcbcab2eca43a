// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/in_order.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/in_order_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace schedlab {
namespace {

constexpr std::uint32_t not_opened = 0xFFFFFFFFU;

}  // namespace

InOrderSweep::Stream& InOrderSweep::open(Run& run, StreamId id) {
  SCHEDLAB_EXPECTS(id.value() < streams_.size(),
                   fmt::format("stream {} of the plan's {}", id.value(), streams_.size()));
  Stream& stream = streams_[id.value()];
  SCHEDLAB_EXPECTS(!stream.destroyed, run.plan.stream_name(id) + " is used after its destruction");
  stream.open = true;
  stream.device = run.plan.streams[id].device;
  SCHEDLAB_EXPECTS(run.problem.platform.has_device(stream.device),
                   fmt::format("device {} of stream {}", stream.device.value(), id.value()));
  const Device& device = run.problem.platform.device(stream.device);
  stream.launch_latency = device.launch_latency;
  stream.gap = device.stream_gap;
  stream.gained = device.stream_gap - device.programmatic_gap.value_or(device.stream_gap);
  stream.event_latency = device.event_latency;
  stream.sync = run.plan.streams[id].sync;
  const std::uint32_t limit = device.connections;
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

/// If the launch queue is full, the host waits for the task that is the queue's depth back.
void InOrderSweep::wait_for_slot(Run& run, StreamId id, const Stream& stream) {
  if (!run.queue_limit) return;
  const std::uint32_t depth = run.host.launch_queue_depth;
  auto& ring = recent_ends_[id.value()];
  if (ring.empty()) ring.resize(depth);
  const Time slot_free = stream.tasks < depth ? Time{} : ring[stream.tasks % depth];
  if (slot_free <= run.clock) return;
  run.blocked += slot_free - run.clock;
  run.clock = slot_free;
}

/// What was launched last ends at `end`.
void InOrderSweep::note_end(Run& run, StreamId id, Stream& stream, Time end) {
  if (run.queue_limit) {
    recent_ends_[id.value()][stream.tasks % run.host.launch_queue_depth] = end;
  }
  ++stream.tasks;
  stream.free_from = end + stream.gap;
  stream.last_item = end;
  run.last_end = std::max(run.last_end, end);
}

inline void InOrderSweep::launch(Run& run, HostCall call) {
  Stream& stream = usable(run, call.stream());
  SCHEDLAB_EXPECTS(call.task().value() < run.problem.costs.task_count(),
                   fmt::format("launch of task {}", call.task().value()));
  wait_for_slot(run, call.stream(), stream);
  if (!run.costs.launches_free()) {
    const CostTable::Entry& entry = run.problem.costs.entry(call.task(), stream.device);
    run.clock += run.costs.launch * entry.launches + entry.calls;
  }
  Time start = std::max(run.clock + stream.launch_latency,
                        stream.free_from - (call.programmatic() ? stream.gained : Duration{0}));
  // A connection of its own holds nothing back: it moves on when the stream's last call is done.
  start = std::max(start, stream.last_item);
  if (run.shared_connections) {
    Time& connection = connections_[stream.connection];
    start = std::max(start, connection);
    connection = start;
  }
  const Time end = start + run.problem.costs.duration(call.task(), stream.device);
  run.spans.next() = {.task = call.task(),
                      .stream = call.stream(),
                      .host = HostId{0},
                      .device = stream.device,
                      .submitted = run.clock,
                      .started = start,
                      .ended = end};
  note_end(run, call.stream(), stream, end);
}

inline void InOrderSweep::record(Run& run, HostCall call) {
  Stream& stream = usable(run, call.stream());
  run.clock += run.costs.record;
  Time done = std::max(run.clock + stream.launch_latency, stream.last_item);
  if (run.shared_connections) {
    Time& connection = connections_[stream.connection];
    done = std::max(done, connection);
    connection = done;
  }
  stream.last_item = done;
  if (call.event().value() >= events_.size()) events_.resize(call.event().value() + 1);
  events_[call.event().value()] = {done, call.stream()};
}

inline void InOrderSweep::wait(Run& run, HostCall call) {
  Stream& stream = usable(run, call.stream());
  run.clock += run.costs.wait;
  Time passed = std::max(run.clock + stream.launch_latency, stream.last_item);
  if (run.shared_connections) passed = std::max(passed, connections_[stream.connection]);
  const std::uint32_t event = call.event().value();
  if (event < events_.size() && events_[event].stream.valid()) {
    const Event& e = events_[event];
    const bool across = e.stream != call.stream();
    passed = std::max(passed, e.completed + (across ? stream.event_latency : Duration{0}));
    if (run.record_flows && across) {
      run.trace.flows.push_back({.event = call.event(),
                                 .from = e.stream,
                                 .to = call.stream(),
                                 .recorded = e.completed,
                                 .released = passed});
    }
  }
  if (run.shared_connections) connections_[stream.connection] = passed;
  stream.last_item = passed;
}

Time InOrderSweep::last_activity() const {
  Time last{};
  for (const Stream& stream : streams_) last = std::max(last, stream.last_item);
  return last;
}

void InOrderSweep::synchronize(Run& run, HostCall call) {
  run.clock += run.costs.synchronize;
  Time until{};
  if (call.stream().valid()) {
    until = usable(run, call.stream()).last_item;
  } else if (call.event().valid()) {
    const std::uint32_t event = call.event().value();
    if (event < events_.size() && events_[event].stream.valid()) until = events_[event].completed;
  } else {
    until = last_activity();
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
      call = HostCall::answered_query(call.stream(),
                                      usable(run, call.stream()).last_item <= run.clock);
      return;
    case HostCallKind::sleep:
      run.clock += call.sleep_time() + run.costs.oversleep;
      run.blocked += call.sleep_time() + run.costs.oversleep;
      return;
    case HostCallKind::synchronize:
      return synchronize(run, call);
    case HostCallKind::create_stream: {
      const std::uint32_t id = call.stream().value();
      SCHEDLAB_EXPECTS(id < streams_.size() && !streams_[id].open,
                       fmt::format("stream {} is created while it exists", id));
      if (streams_[id].destroyed) {  // again: it keeps its connection, behind what was in it
        streams_[id].destroyed = false;
        streams_[id].open = true;
      } else {
        open(run, call.stream());
      }
      run.clock += run.costs.create_stream;
      return;
    }
    case HostCallKind::destroy_stream: {
      Stream& stream = usable(run, call.stream());
      stream.open = false;
      stream.destroyed = true;
      run.clock += run.costs.destroy_stream;
      return;
    }
    case HostCallKind::graph_load:
      return load_graph(run, call);
    case HostCallKind::graph_launch:
      return launch_graph(run, call);
    case HostCallKind::send:
    case HostCallKind::receive:
    case HostCallKind::isend:
    case HostCallKind::irecv:
    case HostCallKind::wait_message:
      throw InfeasibleError(
          fmt::format("the in-order sweep has one host and no {} calls", to_string(call.kind())));
  }
}

/// As execute(), where a legacy default stream and blocking streams keep an order that no call
/// says: what enters the one starts when all that entered the other before it is complete, and it
/// takes as long for the word to get there as from an event.
void InOrderSweep::execute_in_order(Run& run, HostCall& call) {
  const HostCallKind kind = call.kind();
  const bool enters = kind == HostCallKind::launch || kind == HostCallKind::record ||
                      kind == HostCallKind::wait || kind == HostCallKind::graph_launch;
  if (!enters || usable(run, call.stream()).sync == StreamSync::non_blocking) {
    return execute(run, call);
  }
  Stream& stream = usable(run, call.stream());
  LegacyOrder& order = legacy_[stream.device.value()];
  const bool legacy = stream.sync == StreamSync::legacy_default;
  const Time other = legacy ? order.blocking : order.legacy;
  if (other >= Time{}) stream.last_item = std::max(stream.last_item, other + stream.event_latency);
  execute(run, call);
  Time& own = legacy ? order.legacy : order.blocking;
  own = std::max(own, stream.last_item);
}

void InOrderSweep::begin(const Problem& problem, const Plan& plan) {
  streams_.assign(plan.streams.size(), Stream{});
  events_.assign(plan.event_count, Event{});
  graphs_.assign(plan.graphs.size(), GraphState{});
  connections_.clear();
  recent_ends_.assign(
      problem.platform.host(HostId{0}).launch_queue_depth == 0 ? 0 : plan.streams.size(), {});
  opened_.assign(problem.platform.device_count(), 0U);
  first_connection_.assign(problem.platform.device_count(), not_opened);
  const bool ordered =
      std::any_of(plan.streams.begin(), plan.streams.end(), [](const StreamSpec& spec) {
        return spec.sync == StreamSync::legacy_default;
      });
  legacy_.assign(ordered ? problem.platform.device_count() : 0, LegacyOrder{});
}

/// The same rules where no queue is full, no connection shared and no flow recorded, for speed.
///
/// Calls come in groups on one stream (wait, wait, launch, record), so what the group depends on
/// stays in registers: reading back what the call before has just stored is what would take
/// longest. `free_host`: launches, records and waits cost nothing, so all calls of a group arrive
/// together.
template <bool free_host>
// NOLINTNEXTLINE(readability-function-*): one loop, for speed
void InOrderSweep::sweep_plain(Run& run) {
  const CostTable& costs = run.problem.costs;
  const std::span<const Duration> durations = costs.task_durations();
  const std::size_t tasks = costs.task_count();
  const HostCosts cost = run.costs;
  Stream* stream = nullptr;  // of the group
  StreamId id;
  Time idle_from{};  // its last_item
  Time clock = run.clock;
  Time last_end = run.last_end;
  for (const HostCall call : run.plan.hosts[HostId{0}].calls) {
    const HostCallKind kind = call.kind();
    const bool plain =
        kind == HostCallKind::launch || kind == HostCallKind::record || kind == HostCallKind::wait;
    if (!plain || call.stream() != id || stream == nullptr) {
      if (stream != nullptr) stream->last_item = idle_from;
      stream = nullptr;
      if (!plain) [[unlikely]] {
        run.clock = clock;
        HostCall other = call;  // a copy: what has an address does not stay in registers
        execute(run, other);
        clock = run.clock;
        continue;
      }
      id = call.stream();
      stream = &usable(run, id);
      idle_from = stream->last_item;
      if (free_host) idle_from = std::max(idle_from, clock + stream->launch_latency);
    }
    if (kind == HostCallKind::launch) {
      SCHEDLAB_EXPECTS(call.task().value() < tasks,
                       fmt::format("launch of task {}", call.task().value()));
      if (!free_host) {
        const CostTable::Entry& entry = costs.entry(call.task(), stream->device);
        clock += cost.launch * entry.launches + entry.calls;
        idle_from = std::max(idle_from, clock + stream->launch_latency);
      }
      Time free_from = stream->free_from;
      if (call.programmatic()) [[unlikely]]
        free_from -= stream->gained;
      const Time start = std::max(idle_from, free_from);
      idle_from = start + (durations.empty() ? costs.duration(call.task(), stream->device)
                                             : durations[call.task().value()]);
      stream->free_from = idle_from + stream->gap;
      last_end = std::max(last_end, idle_from);
      TaskSpan& span = run.spans.next();
      span.task = call.task();
      span.stream = id;
      span.host = HostId{0};
      span.device = stream->device;
      span.submitted = clock;
      span.started = start;
      span.ended = idle_from;
      continue;
    }
    if (!free_host) {
      clock += kind == HostCallKind::record ? cost.record : cost.wait;
      idle_from = std::max(idle_from, clock + stream->launch_latency);
    }
    const std::uint32_t event = call.event().value();
    if (kind == HostCallKind::record) {
      if (event >= events_.size()) [[unlikely]]
        events_.resize(event + 1);
      events_[event] = {idle_from, id};
    } else if (event < events_.size() && events_[event].stream.valid()) {
      const bool across = events_[event].stream != id;
      const Time seen = events_[event].completed + (across ? stream->event_latency : Duration{0});
      idle_from = std::max(idle_from, seen);
    }
  }
  if (stream != nullptr) stream->last_item = idle_from;
  run.clock = clock;
  run.last_end = std::max(run.last_end, last_end);  // graphs have noted theirs there
}

void InOrderSweep::sweep(Run& run) {
  if (!legacy_.empty()) {
    for (HostCall call : run.plan.hosts[HostId{0}].calls) execute_in_order(run, call);
    return;
  }
  if (!run.queue_limit && !run.shared_connections && !run.record_flows) {
    const HostCosts& cost = run.costs;
    const bool free_host = cost.launches_free() && cost.record + cost.wait == Duration{0};
    return free_host ? sweep_plain<true>(run) : sweep_plain<false>(run);
  }
  for (HostCall call : run.plan.hosts[HostId{0}].calls) execute(run, call);
}

void InOrderSweep::sweep_recorded(Run& run) {
  const std::vector<HostCall>& calls = run.plan.hosts[HostId{0}].calls;
  run.trace.hosts.reserve(calls.size());
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    HostCall call = calls[i];
    const Time started = run.clock;
    run.blocked = Duration{0};
    legacy_.empty() ? execute(run, call) : execute_in_order(run, call);
    run.trace.hosts.push_back({.host = HostId{0},
                               .call = i,
                               .what = call,
                               .started = started,
                               .ended = run.clock,
                               .blocked = run.blocked});
  }
}

void InOrderSweep::run_into(const Problem& problem,
                            const Plan& plan,
                            const SimulationOptions& options,
                            Trace& trace) {
  trace.hosts.clear();
  trace.flows.clear();
  trace.messages.clear();
  trace.tasks.reserve(problem.graph.task_count());
  begin(problem, plan);
  const Host& host = problem.platform.host(HostId{0});
  HostCosts host_costs = host.costs;
  host_costs.launch = host.operator_cost();  // one thread does both
  SpanWriter spans{trace.tasks};
  Run run{.problem = problem,
          .plan = plan,
          .host = host,
          .costs = host_costs,
          .trace = trace,
          .spans = spans,
          .record_flows = options.record_flows,
          .queue_limit = host.launch_queue_depth != 0,
          .shared_connections = std::any_of(problem.platform.devices.begin(),
                                            problem.platform.devices.end(),
                                            [](const Device& d) { return d.connections != 0; })};
  options.record_hosts ? sweep_recorded(run) : sweep(run);
  trace.ended = std::max(run.clock, run.last_end);
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
