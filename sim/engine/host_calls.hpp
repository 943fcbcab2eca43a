// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

/// \file
/// Members of EventEngine: the next call of a host; launches, queries and synchronization.
namespace schedlab::engine {

/// Makes the launches, records and waits that come next in a plan, or that a policy has decided
/// already, without looking at each call twice; stops before the first call that needs anything
/// else. Of a single host thread only.
template <class Source, class Sharing>
[[gnu::flatten]] void EventEngine<Source, Sharing>::run_ahead(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const HostCosts cost = costs(index);
  const Duration per_operator = operator_cost(index);
  const bool costly = per_operator != Duration{0} || !cost.launches_free();
  const std::uint32_t depth = problem_.platform.host(HostId{index}).launch_queue_depth;
  const std::size_t tasks = problem_.costs.task_count();
  const auto calls = source_.rest(HostId{index}, HostView{host.clock, host.last_query});
  Time clock = host.clock;
  std::size_t done = 0;
  for (const HostCall call : calls) {
    if (!devices_.is_usable(call.stream())) break;
    const Stream& stream = devices_.stream(call.stream());
    const Time started = clock;
    if (call.kind() == HostCallKind::launch) {
      if (call.task().value() >= tasks || (depth != 0 && stream.pending_tasks >= depth)) break;
      if (costly) {
        const auto& entry = problem_.costs.entry(call.task(), stream.device);
        clock += per_operator * entry.launches + entry.calls;
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
      HostSpan& span = trace_.hosts.emplace_back();  // see DeviceSide
      prefetch_next(span);
      span.host = HostId{index};
      span.call = host.call_index + static_cast<std::uint32_t>(done);
      span.what = call;
      span.started = started;
      span.ended = clock;
    }
    ++done;
  }
  if (done == 0) return;
  host.clock = clock;
  host.call_index += static_cast<std::uint32_t>(done);
  host.last_query.reset();
  source_.skip(HostId{index}, done);
}

/// Makes the queries and sleeps of a policy that polls busy streams, without asking it for each, up
/// to the first query that finds an idle stream. False if there was none to make. Of a single host
/// thread without messages only.
template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::poll_ahead(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  bool made = false;
  for (;;) {
    const auto calls = source_.polls(HostId{index}, HostView{host.clock, host.last_query});
    Polls polls;
    polls.calls = calls;
    polls.clock = host.clock;
    while (polls.done < calls.size() && !polls.idle && poll_some(index, polls)) {
    }
    for (const std::uint32_t stream : scratch_.watched) scratch_.streams[stream].idle_waiter = nil;
    scratch_.watched.clear();
    host.clock = polls.clock;
    if (polls.done == 0) return made;
    made = true;
    host.last_query.reset();
    if (calls[polls.done - 1].kind() == HostCallKind::query) host.last_query = polls.idle;
    host.call_index += static_cast<std::uint32_t>(polls.done);
    source_.polled(HostId{index}, calls.first(polls.done), polls.idle);
    if (polls.idle || polls.done < calls.size()) return made;
  }
}

/// Makes some of the polls. While the host polls, a busy stream can only become idle: until one
/// does, every query finds its stream busy and need not be looked at. False: the next call is of a
/// stream that cannot be used.
template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::poll_some(std::uint32_t index, Polls& polls) {
  const HostCosts& cost = costs(index);
  const Duration query = cost.query;
  const auto calls = polls.calls.subspan(polls.done);
  const std::size_t most = std::min(calls.size(), polls.ends.size());
  Stream* const streams = scratch_.streams.data();
  const std::size_t stream_count = scratch_.streams.size();
  Time clock = polls.clock;
  std::size_t count = 0;
  std::size_t asked = most;  // the last query
  bool idle = false;
  for (; count < most && !idle; ++count) {
    const std::uint32_t number = calls[count].stream().value();
    if (number < stream_count) {
      Stream& stream = streams[number];
      if (stream.idle_waiter == nil) {
        if (!devices_.is_usable(StreamId{number})) break;
        stream.idle_waiter = index;
        scratch_.watched.push_back(number);
      }
      clock += query;
      asked = count;
      idle = stream.pending_items == 0;
    } else {
      if (calls[count].kind() != HostCallKind::sleep) break;
      clock += calls[count].sleep_time() + cost.oversleep;
    }
    polls.ends[count] = clock;
  }
  if (count == 0) return false;
  if (asked != most) idle = wait_for_idle_stream(index, calls.first(asked + 1), count, polls);
  polls.done += count;
  polls.clock = polls.ends[count - 1];
  polls.idle = idle;
  return true;
}

/// Goes on to the end of the last of these queries, or of the first one before it that finds an
/// idle stream; that one is then the last of the `count` calls that are made, and the answer is
/// true.
template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::wait_for_idle_stream(std::uint32_t index,
                                                        std::span<const HostCall> calls,
                                                        std::size_t& count,
                                                        const Polls& polls) {
  std::size_t first = 0;  // of those that have not ended
  std::size_t last = calls.size() - 1;
  for (;;) {
    advance_to(polls.ends[last]);
    if (scratch_.resumed.empty()) break;
    // Streams have become idle at this moment: who asked before found them busy.
    scratch_.resumed.clear();
    scratch_.hosts[index].released = false;
    while (polls.ends[first] < devices_.now()) ++first;
    for (std::size_t i = first; i < last; ++i) {
      const StreamId stream = calls[i].stream();
      if (stream.valid() && devices_.stream(stream).pending_items == 0) last = i;
    }
  }
  const bool idle = devices_.stream(calls[last].stream()).pending_items == 0;
  if (idle) count = last + 1;
  return idle;
}

/// The front end's part of a call, on its own thread. A launch is prepared, waits for a place in
/// the queue, and leaves it when the other thread begins it; all else is passed on at once. The
/// host's clock becomes the time at which the call begins.
template <class Source, class Sharing>
void EventEngine<Source, Sharing>::prepare(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (host.call.kind() != HostCallKind::launch) {
    host.clock = std::max(host.clock, host.front);
    return;
  }
  open_on_first_use(host.call.stream());
  SCHEDLAB_EXPECTS(host.call.task().value() < problem_.costs.task_count(),
                   fmt::format("launch of task {}", host.call.task().value()));
  const DeviceId device = devices_.stream(host.call.stream()).device;
  host.front +=
      costs(index).preparation() * problem_.costs.entry(host.call.task(), device).launches;
  const std::uint32_t depth = problem_.platform.host(HostId{index}).front_end_queue_depth;
  if (depth == 0 || depth >= problem_.costs.task_count()) {  // never full
    host.clock = std::max(host.clock, host.front);
    return;
  }
  host.taken.resize(depth);
  Time& taken = host.taken[host.prepared % depth];  // the launch `depth` before this one
  if (host.prepared >= depth) host.front = std::max(host.front, taken);
  host.clock = std::max(host.clock, host.front);
  taken = host.clock;
  ++host.prepared;
}

/// May the stream of the host's call take another launch? If not, the host is blocked.
template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::queue_has_slot(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  if (host.released) unblock(host);
  Stream& stream = devices_.stream(host.call.stream());
  const std::uint32_t depth = problem_.platform.host(HostId{index}).launch_queue_depth;
  if (depth == 0 || stream.pending_tasks < depth) return true;
  host.next_waiter = stream.full_waiter;
  stream.full_waiter = index;
  return block(index, HostState::queue_full, host.clock);
}

template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::launch(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const StreamId id = host.call.stream();
  if (host.state == HostState::copying) return end_copy(index);
  open_on_first_use(id);
  SCHEDLAB_EXPECTS(
      host.call.task().value() < problem_.costs.task_count(),
      fmt::format(
          "launch of task {} of {}", host.call.task().value(), problem_.costs.task_count()));
  if (!queue_has_slot(index)) return false;
  const auto& entry = problem_.costs.entry(host.call.task(), devices_.stream(id).device);
  host.clock += operator_cost(index) * entry.launches + entry.calls + entry.staging_before;
  devices_.enqueue_launch(host.call, host.clock, arrival(id, host.clock), HostId{index});
  if (entry.staging_after == Duration{0}) return true;
  devices_.wait_for_record(devices_.enqueue_mark(id, arrival(id, host.clock)), index);
  return block(index, HostState::copying, host.clock);
}

/// A copy to pageable memory has reached the pinned buffer, from which the host takes it.
template <class Source, class Sharing>
bool EventEngine<Source, Sharing>::end_copy(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  const DeviceId device = devices_.stream(host.call.stream()).device;
  unblock(host);
  host.clock += costs(index).wake_up + problem_.costs.entry(host.call.task(), device).staging_after;
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
  } else if (devices_.pending_for(index) != 0) {
    devices_.wait_for_idle(index);
    return block(index, HostState::synchronizing, end);
  }
  host.clock = end;
  return true;
}

template <class Source, class Sharing>
inline void EventEngine<Source, Sharing>::run_decided(std::uint32_t index) {
  [[maybe_unused]] const bool ahead = single_ && !two_threads_ && !problem_.costs.has_staging();
  if constexpr (requires { source_.rest(HostId{index}, HostView{}); }) {
    if (ahead) run_ahead(index);
  }
  if constexpr (requires { source_.polls(HostId{index}, HostView{}); }) {
    const bool polls = alone_ && !two_threads_ && !options_.record_hosts;
    while (polls && poll_ahead(index) && ahead) run_ahead(index);
  }
}

template <class Source, class Sharing>
inline bool EventEngine<Source, Sharing>::take_call(std::uint32_t index) {
  HostThread& host = scratch_.hosts[index];
  run_decided(index);
  if (!single_ && host.clock > devices_.now() && !caught_up(index, host.clock)) return false;
  host.caught_up = false;
  host.state = HostState::running;
  const Time decided = two_threads_ ? host.front : host.clock;
  const std::optional<HostCall> call =
      source_.next(HostId{index}, HostView{decided, host.last_query});
  if (!call) {
    host.state = HostState::done;
    return false;
  }
  host.call = *call;
  host.has_call = true;
  if (two_threads_) {
    prepare(index);
    // Calls of several hosts are made in the order of their begins.
    if (!single_ && host.clock > devices_.now() && !caught_up(index, host.clock)) {
      host.state = HostState::preparing;
      return false;
    }
  }
  begin_call(index);
  return true;
}

}  // namespace schedlab::engine
