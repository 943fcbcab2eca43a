// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"
#include "sim/engine/engine_state.hpp"
#include "sim/engine/sharing/exclusive.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::engine {

/// Connections, streams and events of all devices: what happens to calls after they were made.
///
/// Rules (CUDA's): a task leaves its stream when it has completed; it leaves its connection, and
/// lets calls of other streams behind it pass, once it is fully dispatched (Amert et al., RTSS
/// 2017, rules G1-G4; Bakita and Anderson, RTAS 2024, on connections). Records and waits leave when
/// they are done.
///
/// What is appended in every call is made in place, member by member: the processor waits when a
/// value is copied in larger pieces than those in which it has just been written.
///
/// The opening of streams, and the order between the legacy default stream and blocking ones, are
/// defined in device_streams.hpp, graphs in device_graphs.hpp.
template <class Sharing>
class DeviceSide {
 public:
  DeviceSide(const Problem& problem,
             const std::vector<std::uint32_t>& partitions,
             const SimulationOptions& options,
             Scratch& scratch,
             Sharing& sharing,
             Trace& trace)
      : problem_(problem),
        options_(options),
        scratch_(scratch),
        sharing_(sharing),
        trace_(trace),
        items_(scratch.items),
        next_connection_(problem.platform.device_count(), 0U),
        first_connection_(problem.platform.device_count(), nil) {
    if (problem.platform.ranks > 1) ranks_.resize(problem.platform.device_count());
    sharing_.reset(problem, partitions);
    scratch.collectives.reset(problem);
    contend_ = scratch.collectives.contend();
    items_.clear();
    scratch.connections.clear();
    scratch.streams.clear();
    scratch.last_record.clear();
    scratch.dirty.clear();
    scratch.resumed.clear();
    scratch.arrivals.clear();
    scratch.slots.clear();
    scratch.free_slots.clear();
    scratch.legacy_order.reset();
  }

  [[nodiscard]] Time now() const { return now_; }
  /// End of the last task so far.
  [[nodiscard]] Time last_end() const { return last_end_; }
  [[nodiscard]] std::uint64_t pending() const { return pending_; }
  /// What a synchronize of everything waits for: on a platform of ranks, the work of its own
  /// device.
  [[nodiscard]] std::uint64_t pending_for(std::uint32_t host) const {
    return is_rank(host) ? ranks_[host].pending : pending_;
  }
  [[nodiscard]] Stream& stream(StreamId id) { return scratch_.streams[id.value()]; }
  [[nodiscard]] bool is_open(StreamId id) const {
    return id.value() < scratch_.streams.size() && scratch_.streams[id.value()].connection != nil;
  }
  [[nodiscard]] bool is_usable(StreamId id) const {
    return is_open(id) && !scratch_.streams[id.value()].destroyed;
  }

  /// Maps the stream onto a connection of its device, in the order of creation or first use.
  void open(StreamId id, const StreamSpec& spec);

  [[gnu::always_inline]] void enqueue_launch(HostCall call,
                                             Time submitted,
                                             Time arrival,
                                             HostId host);
  [[gnu::always_inline]] void enqueue_record(HostCall call, Time arrival) {
    if (call.event().value() >= scratch_.last_record.size()) {
      scratch_.last_record.resize(call.event().value() + 1, nil);
    }
    scratch_.last_record[call.event().value()] = append(stream(call.stream()), call, arrival, nil);
  }
  /// A record of no event; its item.
  std::uint32_t enqueue_mark(StreamId id, Time arrival) {
    return append(stream(id), HostCall::record(id, EventId::none()), arrival, nil);
  }
  [[gnu::always_inline]] void enqueue_wait(HostCall call, Time arrival) {
    append(stream(call.stream()), call, arrival, last_record(call.event()));
  }
  /// The next execution of a graph of the plan enters the stream, with spans for its nodes.
  void enqueue_graph(const Plan& plan, HostCall call, Time submitted, Time arrival, HostId host);
  /// nil when the event was never recorded.
  [[nodiscard]] std::uint32_t last_record(EventId event) const {
    return event.value() < scratch_.last_record.size() ? scratch_.last_record[event.value()] : nil;
  }

  [[nodiscard]] bool record_completed(std::uint32_t record) const {
    return record == nil || items_[record].next == completed_mark;
  }
  void wait_for_record(std::uint32_t record, std::uint32_t host) {
    scratch_.hosts[host].next_waiter = items_[record].link;
    items_[record].link = host | host_bit;
  }
  void wait_for_idle(std::uint32_t host) {
    std::uint32_t& list = is_rank(host) ? ranks_[host].idle_waiter : all_idle_waiter_;
    scratch_.hosts[host].next_waiter = list;
    list = host;
  }

  /// Looks at every connection that something has happened to.
  void drain() {
    for (std::size_t i = 0; i < scratch_.dirty.size(); ++i) {
      const std::uint32_t connection = scratch_.dirty[i];
      scratch_.connections[connection].queued = false;
      advance(connection);
    }
    scratch_.dirty.clear();
  }
  /// What touch() and drain() come to while no other component is to be looked at.
  void arrive(std::uint32_t connection) { advance(connection); }
  void touch(std::uint32_t connection) {
    Connection& c = scratch_.connections[connection];
    if (c.queued) return;
    c.queued = true;
    scratch_.dirty.push_back(connection);
  }

  /// Before `horizon` nothing arrives: a sharing model may go on by itself until then.
  [[nodiscard]] Time next_completion(Time horizon) {
    if (!contend_) [[likely]]
      return next_of_kernels(horizon);
    const Time end = scratch_.collectives.next_end();
    return std::min(next_of_kernels(std::min(horizon, end)), end);
  }
  void complete_one();
  [[nodiscard]] bool dispatch_needed() const { return sharing_.dispatch_needed(); }
  void dispatch() {
    sharing_.dispatch(
        now_,
        [this](const KernelRequest& request, Time when) { start(request.connection, when); },
        [this](const KernelRequest& request) {
          Connection& c = scratch_.connections[request.connection];
          c.submitted = false;
          pop(c);
          touch(request.connection);
          if (request.held) start_part(request);
        });
    if (contend_) [[unlikely]]
      follow_rates();
  }
  void set_now(Time now) { now_ = now; }
  /// The links' rates are new: collectives follow them.
  void follow_links() {
    CollectiveState& collectives = scratch_.collectives;
    scratch_.transfers.changed_flows([&](std::uint32_t collective, double rate) {
      collectives.set_link_rate(CollectiveId{collective}, rate);
    });
    collectives.update(now_);
  }
  /// Everything that could happen at this instant has happened.
  [[nodiscard]] bool quiescent() const { return scratch_.dirty.empty() && !dispatch_needed(); }

 private:
  [[gnu::always_inline]] Time next_of_kernels(Time horizon) {
    if constexpr (requires { sharing_.next_completion(now_, horizon); }) {
      return sharing_.next_completion(now_, horizon);
    } else {
      return sharing_.next_completion();
    }
  }
  [[gnu::noinline]] void share(std::uint32_t connection);
  [[gnu::always_inline]] std::uint32_t append(Stream& s,
                                              HostCall call,
                                              Time arrival,
                                              std::uint32_t link);
  [[gnu::noinline]] void enter_order(const Stream& s, std::uint32_t item);
  [[gnu::noinline]] void leave_order(const Stream& s);
  void wake_held(std::uint32_t connection) {
    scratch_.connections[connection].waiting = false;
    touch(connection);
  }
  [[gnu::noinline]] bool in_order(const Stream& s, std::uint32_t connection);
  void advance(std::uint32_t connection);
  bool begin_kernel(std::uint32_t connection, const Item& item);
  void start(std::uint32_t connection, Time when);
  /// A collective's part has all it needs; once the last has, all end together.
  [[gnu::noinline]] void start_part(const KernelRequest& request) {
    const auto complete = scratch_.collectives.start(request.task, request.stream);
    if (contend_ && !complete.streams.empty()) return begin_contending(complete);
    for (const StreamId stream : complete.streams) {
      sharing_.release(stream, now_ + complete.duration);
    }
  }
  void begin_contending(const CollectiveState::Complete& complete);
  [[gnu::noinline]] void follow_rates();
  [[gnu::noinline]] void end_collective();
  [[gnu::always_inline]] void complete(const typename Sharing::Completion& completion);
  /// What the connection's head waits for has been recorded, now.
  void let_go(std::uint32_t connection, Connection& waiting) {
    waiting.waiting = false;
    const Stream& s = stream(items_[waiting.head].call.stream());
    if (s.event_latency > Duration{0} && s.sync == StreamSync::non_blocking) {
      wake_at(connection, now_ + s.event_latency);  // nothing happens to it before
    } else {
      touch(connection);
    }
  }
  bool pass_wait(std::uint32_t connection, Item& item);
  void complete_record(std::uint32_t connection);
  [[gnu::noinline]] bool begin_graph(std::uint32_t connection, const Item& item);
  void release_node(std::uint32_t graph, std::uint32_t node, Time ready);
  [[gnu::noinline]] std::uint32_t take_slot(std::uint32_t graph, std::uint32_t node);
  [[gnu::noinline]] void complete_node(StreamId slot);
  [[gnu::noinline]] void complete_graph(std::uint32_t graph);
  void pop(Connection& connection) {
    const std::uint32_t popped = connection.head;
    connection.head = items_[popped].next;
    if (connection.head == nil) {
      connection.tail = nil;
      return;
    }
    fetch_behind(popped, connection.head);
  }
  /// What is far away in memory is needed when the running task has ended, many events from now:
  /// time enough to fetch it. Looking at it here would wait for it.
  void fetch_behind(std::uint32_t head, std::uint32_t next) {
    const bool near = next == head + 1;  // e.g. the record behind a launch
    const std::uint32_t target = near ? items_[next].next : next;
    if (target == nil) return;
    __builtin_prefetch(items_.data() + target);
    __builtin_prefetch(items_.data() + target + 2);
    // What the calls fetched last time, near by now, will need in their turn, up to a launch.
    std::uint32_t item = std::exchange(fetched_, target);
    while (fetch(items_[item]) && items_[item].next == item + 1) ++item;
  }
  /// Copies take their turn on the copy engine whatever the priority of their stream (CUDA's
  /// cudaStreamCreateWithPriority; Amert et al., rules C1-C4).
  [[nodiscard]] bool is_host_copy(TaskId task) const {
    const TaskKind kind = problem_.graph.operation(task).kind;
    return kind == TaskKind::copy_host_to_device || kind == TaskKind::copy_device_to_host;
  }
  [[nodiscard]] std::uint32_t lowest_level(DeviceId device) const {
    return problem_.platform.device(device).priority_levels - 1;
  }
  /// Tells the processor what the call will touch when its turn comes.
  /// False: it is a launch.
  [[nodiscard]] bool fetch(const Item& item) const {
    if (item.call.kind() == HostCallKind::launch) {
      __builtin_prefetch(&trace_.tasks[item.link], 1);
      problem_.costs.prefetch(item.call.task());
      return false;
    }
    if (item.link < items_.size()) __builtin_prefetch(&items_[item.link]);  // a wait's record
    return true;
  }
  void wake_at(std::uint32_t connection, Time time) {
    Connection& c = scratch_.connections[connection];
    if (c.wake == time) return;
    c.wake = time;
    scratch_.arrivals.push(time, phase_arrival, connection);
  }
  [[gnu::always_inline]] void retire(Stream& stream) {
    --pending_;
    if (stream.sync != StreamSync::non_blocking) [[unlikely]]
      leave_order(stream);
    if (--stream.pending_items == 0) release(stream.idle_waiter);
    if (!ranks_.empty() && --ranks_[stream.device.value()].pending == 0) [[unlikely]] {
      release(ranks_[stream.device.value()].idle_waiter);
    }
    if (pending_ == 0) [[unlikely]]
      release(all_idle_waiter_);
  }
  [[gnu::always_inline]] void release(std::uint32_t& list) {
    while (list != nil) [[unlikely]] {
        const std::uint32_t host = list;
        list = scratch_.hosts[host].next_waiter;
        scratch_.hosts[host].released = true;
        scratch_.resumed.push_back(host);
      }
  }

  Problem problem_;
  const SimulationOptions& options_;
  Scratch& scratch_;
  Sharing& sharing_;
  Trace& trace_;
  std::vector<Item>& items_;
  IdVector<DeviceId, std::uint32_t> next_connection_;
  IdVector<DeviceId, std::uint32_t> first_connection_;
  const Plan* plan_ = nullptr;  // of the graphs
  struct RankState {
    std::uint64_t pending = 0;  // calls on the rank's device
    std::uint32_t idle_waiter = nil;
  };
  [[nodiscard]] bool is_rank(std::uint32_t host) const { return host < ranks_.size(); }

  std::vector<RankState> ranks_;  // empty: a single process
  std::uint64_t pending_ = 0;
  std::uint32_t all_idle_waiter_ = nil;
  Time now_{};
  Time last_end_{};
  bool contend_ = false;       ///< collectives do (CollectiveState)
  std::uint32_t fetched_ = 0;  ///< an item that was fetched and not looked at
};

}  // namespace schedlab::engine
