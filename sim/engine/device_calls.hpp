// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Members of DeviceSide: calls enter a connection, reach its head, begin and end.
#include "sim/engine/device_side.hpp"

namespace schedlab::engine {

template <class Sharing>
inline std::uint32_t DeviceSide<Sharing>::append(Stream& s,
                                                 HostCall call,
                                                 Time arrival,
                                                 std::uint32_t link) {
  const auto index = static_cast<std::uint32_t>(items_.size());
  Item& item = items_.emplace_back();
  prefetch_next(item);
  item.call = call;
  item.link = link;
  item.time = arrival;
  ++s.pending_items;
  ++pending_;
  if (s.sync != StreamSync::non_blocking) [[unlikely]]
    enter_order(s, index);
  if (!ranks_.empty()) [[unlikely]]
    ++ranks_[s.device.value()].pending;
  Connection& c = scratch_.connections[s.connection];
  if (c.tail == nil) {
    c.head = index;
    touch(s.connection);
  } else {
    items_[c.tail].next = index;
  }
  c.tail = index;
  return index;
}

template <class Sharing>
inline void DeviceSide<Sharing>::enqueue_launch(HostCall call,
                                                Time submitted,
                                                Time arrival,
                                                HostId host) {
  Stream& s = stream(call.stream());
  const auto span = static_cast<std::uint32_t>(trace_.tasks.size());
  TaskSpan& made = trace_.tasks.emplace_back();
  prefetch_next(made);
  made.task = call.task();
  made.stream = call.stream();
  made.host = host;
  made.device = s.device;
  made.submitted = submitted;
  ++s.pending_tasks;
  append(s, call, arrival, span);
}

template <class Sharing>
void DeviceSide<Sharing>::advance(std::uint32_t connection) {
  Connection& c = scratch_.connections[connection];
  while (c.head != nil && !c.submitted) {
    Item& item = items_[c.head];
    if (item.time > now_) return wake_at(connection, item.time);
    Stream& s = stream(item.call.stream());
    if (s.running_span != nil) return;  // its completion brings us back
    if (s.sync != StreamSync::non_blocking && !in_order(s, connection)) [[unlikely]]
      return;
    switch (item.call.kind()) {
      case HostCallKind::launch:
        // A private connection has nothing to do before the kernel ends.
        if (!begin_kernel(connection, item) || !c.shared) return;
        break;
      case HostCallKind::record:
        complete_record(connection);
        break;
      case HostCallKind::graph_launch:
        // May add connections, so that `c` no longer stands.
        if (begin_graph(connection, item)) touch(connection);
        return;
      default:
        if (!pass_wait(connection, item)) return;
        pop(c);
        retire(s);
        break;
    }
  }
}

template <class Sharing>
bool DeviceSide<Sharing>::begin_kernel(std::uint32_t connection, const Item& item) {
  Connection& c = scratch_.connections[connection];
  const Stream& s = stream(item.call.stream());
  const Time free_from = s.free_from - (item.call.programmatic() ? s.gained : Duration{0});
  if (free_from > now_) {
    wake_at(connection, free_from);
    return false;
  }
  KernelRequest request{.task = item.call.task(),
                        .stream = item.call.stream(),
                        .device = s.device,
                        .connection = connection,
                        .level = s.level,
                        .partition = s.partition,
                        .arrived = item.time,
                        .item = c.head,
                        .held = scratch_.collectives.contains(item.call.task())};
  if (!sharing_.start_at_once(request, now_)) {
    const std::uint32_t lowest = lowest_level(s.device);
    if (s.level != lowest && is_host_copy(item.call.task())) request.level = lowest;
    request.quiet = !c.shared && !request.held;
    sharing_.submit(request);
    c.submitted = true;
    if (item.next != nil) fetch_behind(c.head, item.next);
    return false;
  }
  start(connection, now_);
  pop(c);
  if (request.held) start_part(request);
  return true;
}

template <class Sharing>
void DeviceSide<Sharing>::start(std::uint32_t connection, Time when) {
  const Item& item = items_[scratch_.connections[connection].head];
  trace_.tasks[item.link].started = when;
  stream(item.call.stream()).running_span = item.link;
}

template <class Sharing>
void DeviceSide<Sharing>::complete_record(std::uint32_t connection) {
  Connection& c = scratch_.connections[connection];
  Item& item = items_[c.head];
  Stream& s = stream(item.call.stream());
  pop(c);
  item.next = completed_mark;
  item.time = now_;
  for (std::uint32_t waiter = item.link; waiter != nil;) {
    if ((waiter & host_bit) != 0) [[unlikely]] {
      HostThread& host = scratch_.hosts[waiter & ~host_bit];
      host.released = true;
      scratch_.resumed.push_back(waiter & ~host_bit);
      waiter = host.next_waiter;
    } else {
      const std::uint32_t connection_of_waiter = waiter;
      Connection& waiting = scratch_.connections[waiter];
      waiter = waiting.next_waiter;
      let_go(connection_of_waiter, waiting);
    }
  }
  retire(s);
}

template <class Sharing>
bool DeviceSide<Sharing>::pass_wait(std::uint32_t connection, Item& item) {
  if (item.link == nil) return true;
  Item& record = items_[item.link];
  if (record.next != completed_mark) {
    Connection& c = scratch_.connections[connection];
    if (!c.waiting) {
      c.waiting = true;
      c.next_waiter = record.link;
      record.link = connection;
      if (item.next != nil) (void)fetch(items_[item.next]);
    }
    return false;
  }
  const StreamId to = item.call.stream();
  if (record.call.stream() == to) return true;
  const Duration latency = stream(to).event_latency;
  if (record.time + latency > now_) {
    wake_at(connection, record.time + latency);
    return false;
  }
  if (options_.record_flows) {
    EventFlow& flow = trace_.flows.emplace_back();
    flow.event = item.call.event();
    flow.from = record.call.stream();
    flow.to = to;
    flow.recorded = record.time;
    flow.released = now_;
  }
  return true;
}

template <class Sharing>
void DeviceSide<Sharing>::complete_one() {
  if (contend_ && scratch_.collectives.next_end() == now_) [[unlikely]]
    return end_collective();
  typename Sharing::Completion completion;
  if (!sharing_.pop_completion(now_, completion)) {
    // A model may have gone on by itself to where kernels were placed: nothing else happens then.
    if constexpr (requires { sharing_.announced(); }) {
      if (sharing_.announced()) dispatch();
    }
    return;
  }
  complete(completion);
}

/// The kernel has ended, now.
template <class Sharing>
inline void DeviceSide<Sharing>::complete(const typename Sharing::Completion& completion) {
  Stream& s = stream(completion.stream);
  if (completion.quiet) {
    Connection& c = scratch_.connections[s.connection];
    s.running_span = items_[c.head].link;
    trace_.tasks[s.running_span].started = completion.started;
    c.submitted = false;
    pop(c);
  }
  trace_.tasks[s.running_span].ended = now_;
  s.running_span = nil;
  last_end_ = now_;
  if (s.graph_node) [[unlikely]]
    return complete_node(completion.stream);
  s.free_from = now_ + s.gap;
  --s.pending_tasks;
  release(s.full_waiter);
  retire(s);
  advance(s.connection);  // what touch() and drain() would do, without the list between them
}

}  // namespace schedlab::engine
