// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/collective_state.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/legacy_order.hpp"
#include "sim/engine/transfers.hpp"
#include "sim/plan/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace schedlab::engine {

inline constexpr std::uint32_t nil = std::numeric_limits<std::uint32_t>::max();
/// `Item::next` of a record that has completed.
inline constexpr std::uint32_t completed_mark = nil - 1;
/// `Stream::running_span` of a stream in which a graph runs.
inline constexpr std::uint32_t graph_mark = nil - 1;
/// Marks a host among the waiters for a record; without it the waiter is a connection.
inline constexpr std::uint32_t host_bit = 1U << 31U;

/// Phases of the arrival queue; completions come before both, the start of kernels after.
inline constexpr std::uint32_t phase_arrival = 0;
inline constexpr std::uint32_t phase_host = 1;
inline constexpr std::uint32_t phase_message = 2;  ///< the next stage of a message begins

/// The entry is the last of a long table that grows: tells the processor to fetch the memory of
/// those that will come some calls later.
template <class T>
void prefetch_next(const T& last) {
  constexpr std::size_t bytes_ahead = 1024;  // assumed: 20 calls or so, longer than memory takes
  __builtin_prefetch(&last + bytes_ahead / sizeof(T), 1);
}

/// One call on its way through a hardware connection. 24 bytes: there are about two a task.
struct Item {
  HostCall call;
  std::uint32_t next = nil;  ///< next in its connection
  /// launch: index of its span in the trace; wait: the record it waits for; record: first waiter;
  /// graph_launch: the item of its first node.
  std::uint32_t link = nil;
  Time time{};  ///< arrival in the stream; of a completed record: its completion
};

/// A FIFO of calls in submission order; a stream is mapped onto a connection when it is first used.
/// With more streams than connections, a blocked head delays streams it has nothing to do with.
struct Connection {
  std::uint32_t head = nil;
  std::uint32_t tail = nil;
  std::uint32_t next_waiter = nil;  ///< in the list of waiters for one record
  Time wake{Duration{-1}};          ///< time of the last wake-up asked for
  bool queued = false;              ///< in the list of connections to look at
  bool submitted = false;           ///< its head is a kernel that waits for units
  /// Its head is a wait for a record that has not completed, or held by the legacy default stream.
  bool waiting = false;
  bool shared = false;  ///< with other streams
};

struct Stream {
  DeviceId device;
  std::uint32_t connection = nil;
  std::uint32_t level = 0;
  std::uint32_t pending_items = 0;
  std::uint32_t pending_tasks = 0;
  std::uint32_t running_span = nil;  ///< nil: no task of this stream is on the device
  std::uint32_t full_waiter = nil;   ///< hosts blocked because the launch queue is full
  std::uint32_t idle_waiter = nil;   ///< hosts that synchronize with the stream
  Time free_from{Duration{0}};       ///< end of the last task + gap
  // Of its device; here so that a call touches one place.
  Duration launch_latency{0};
  Duration gap{0};
  Duration gained{0};  ///< of that gap, by a programmatic launch
  Duration event_latency{0};
  bool destroyed = false;
  bool graph_node = false;  ///< not a stream of the plan, but where one node of a graph runs
  StreamSync sync = StreamSync::non_blocking;
  std::uint32_t partition = 0;  ///< of its device's units
};

/// A device graph, and its execution: there is one at a time.
struct GraphState {
  std::vector<std::uint32_t> successor_offset;  ///< empty: not used yet in this run
  std::vector<std::uint32_t> successors;
  std::vector<std::uint32_t> missing;   ///< by node: needs that have not completed
  std::vector<std::uint32_t> launches;  ///< items of those the host has made so far
  std::uint32_t begun = 0;              ///< of these; they begin in the host's order
  std::uint32_t nodes_left = 0;         ///< of the execution; 0: none is under way
  std::uint32_t first_item = nil;       ///< of the execution's nodes
  StreamId stream;                      ///< into which it was launched
  std::uint32_t waiter = nil;           ///< connections that hold a further launch of it
};

/// What runs in a stream that is not one of the plan.
struct GraphSlot {
  std::uint32_t graph = nil;
  std::uint32_t node = nil;
};

enum class HostState : std::uint8_t {
  running,
  catching_up,
  preparing,  ///< its front end prepares the call
  queue_full,
  synchronizing,
  message,
  copying,  ///< waits for a copy to pageable memory that it has launched
  done
};

struct HostThread {
  Time clock{};
  HostState state = HostState::running;
  bool has_call = false;   ///< `call` is under way
  bool caught_up = false;  ///< the engine's time has reached the moment `call` needs
  bool released = false;   ///< what `call` was blocked on has happened
  std::uint32_t call_index = 0;
  std::uint32_t next_waiter = nil;
  HostCall call;
  Time call_started{};
  Duration blocked{0};  ///< within the current call
  std::optional<bool> last_query;
  // With a front end on a thread of its own; `clock` is then that of the thread that calls.
  Time front{};                ///< clock of the front end
  std::vector<Time> taken;     ///< of the last launches, as many as its queue holds: when it left
  std::uint32_t prepared = 0;  ///< launches so far
};

/// One point-to-point message on its way. What happens when: host_messages.hpp.
struct Message {
  enum class Stage : std::uint8_t { posted, shaking_hands, moving, arriving, done };

  std::uint32_t waiting_sender = nil;    ///< host that blocks until it has left
  std::uint32_t waiting_receiver = nil;  ///< host that blocks until it has come
  Stage stage = Stage::posted;
  bool send_posted = false;
  bool receive_posted = false;
  bool sent = false;      ///< the sender may go on
  bool received = false;  ///< it has arrived and somebody wants it
  Time asked{};           ///< when the send was posted
  Time left_from{};       ///< when its bytes began to move
};

/// All memory of a run; kept between runs for its capacity only.
struct Scratch {
  std::vector<Item> items;
  std::vector<Connection> connections;
  std::vector<Stream> streams;
  std::vector<std::uint32_t> last_record;  // by event: the item of its latest record
  std::vector<std::uint32_t> dirty;        // connections to look at
  std::vector<std::uint32_t> resumed;      // hosts to go on with
  std::vector<std::uint32_t> watched;      // streams that a polling host waits for
  std::vector<HostThread> hosts;
  std::vector<Message> messages;
  std::vector<GraphState> graphs;
  std::vector<GraphSlot> slots;           // by stream, less those of the plan
  std::vector<std::uint32_t> free_slots;  // streams
  CollectiveState collectives;
  LegacyOrder legacy_order;
  Transfers transfers;
  EventQueue arrivals;

  [[nodiscard]] std::size_t memory_bytes() const {
    return items.capacity() * sizeof(Item) + connections.capacity() * sizeof(Connection) +
           streams.capacity() * sizeof(Stream) + hosts.capacity() * sizeof(HostThread) +
           messages.capacity() * sizeof(Message) + arrivals.memory_bytes() +
           slots.capacity() * sizeof(GraphSlot) + free_slots.capacity() * sizeof(std::uint32_t) +
           collectives.memory_bytes() + legacy_order.memory_bytes() + transfers.memory_bytes() +
           (last_record.capacity() + dirty.capacity() + resumed.capacity() + watched.capacity()) *
               sizeof(std::uint32_t);
  }
};

}  // namespace schedlab::engine
