// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/plan/device_graph.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

enum class HostCallKind : std::uint8_t {
  create_stream,
  destroy_stream,
  launch,
  record,
  wait,
  query,
  sleep,
  synchronize,
  graph_load,
  graph_launch,
  send,
  receive,
  isend,
  irecv,
  wait_message,
};
inline constexpr std::size_t host_call_kind_count = 15;
template <>
struct EnumNames<HostCallKind> {
  static constexpr auto names = name_list("create_stream",
                                          "destroy_stream",
                                          "launch",
                                          "record",
                                          "wait",
                                          "query",
                                          "sleep",
                                          "synchronize",
                                          "graph_load",
                                          "graph_launch",
                                          "send",
                                          "receive",
                                          "isend",
                                          "irecv",
                                          "wait_message");
};

/// One call of a host thread, 8 bytes. Semantics are CUDA's:
///   launch       the task enters the stream's FIFO and leaves it when it has completed; a
///                *programmatic* one may follow the kernel right before it in its stream
///                Device::programmatic_gap after that one's end, and not stream_gap
///   record       the event captures all work in the stream at this moment; a later record replaces
///   it wait         all later work of the stream waits for the event's record as it is at this
///   call;
///                an event without a record counts as complete
///   query        is the stream idle? The answer goes to the policy; `argument` keeps the recorded
///   one synchronize  the host blocks until a stream, an event, or (neither) all devices are idle
///   send/receive a message between host threads, see MessageSpec
///   isend/irecv  the same without blocking; wait_message blocks until this side's part is done
///   graph_load   the graph exists from here on; a graph that no call loads exists from the start
///   graph_launch the graph's next row of tasks enters the stream as one item, which leaves it when
///                all nodes have completed; behind the graph's launch before, in whatever stream
class HostCall {
 public:
  constexpr HostCall() = default;

  [[nodiscard]] static constexpr HostCall create_stream(StreamId s) {
    return {HostCallKind::create_stream, s, none};
  }
  [[nodiscard]] static constexpr HostCall destroy_stream(StreamId s) {
    return {HostCallKind::destroy_stream, s, none};
  }
  [[nodiscard]] static constexpr HostCall launch(StreamId s,
                                                 TaskId task,
                                                 bool programmatic = false) {
    HostCall call{HostCallKind::launch, s, task.value()};
    if (programmatic) call.kind_and_stream_ |= programmatic_bit;
    return call;
  }
  [[nodiscard]] static constexpr HostCall record(StreamId s, EventId event) {
    return {HostCallKind::record, s, event.value()};
  }
  [[nodiscard]] static constexpr HostCall wait(StreamId s, EventId event) {
    return {HostCallKind::wait, s, event.value()};
  }
  [[nodiscard]] static constexpr HostCall query(StreamId s) {
    return {HostCallKind::query, s, none};
  }
  [[nodiscard]] static constexpr HostCall answered_query(StreamId s, bool idle) {
    return {HostCallKind::query, s, idle ? 1U : 0U};
  }
  /// At most 4.29 s.
  [[nodiscard]] static constexpr HostCall sleep_ns(std::uint32_t nanoseconds) {
    return {HostCallKind::sleep, StreamId::none(), nanoseconds};
  }
  [[nodiscard]] static constexpr HostCall synchronize_stream(StreamId s) {
    return {HostCallKind::synchronize, s, none};
  }
  [[nodiscard]] static constexpr HostCall synchronize_event(EventId event) {
    return {HostCallKind::synchronize, StreamId::none(), event.value()};
  }
  [[nodiscard]] static constexpr HostCall synchronize_all() {
    return {HostCallKind::synchronize, StreamId::none(), none};
  }
  [[nodiscard]] static constexpr HostCall send(std::uint32_t message) {
    return {HostCallKind::send, StreamId::none(), message};
  }
  [[nodiscard]] static constexpr HostCall receive(std::uint32_t message) {
    return {HostCallKind::receive, StreamId::none(), message};
  }
  [[nodiscard]] static constexpr HostCall isend(std::uint32_t message) {
    return {HostCallKind::isend, StreamId::none(), message};
  }
  [[nodiscard]] static constexpr HostCall irecv(std::uint32_t message) {
    return {HostCallKind::irecv, StreamId::none(), message};
  }
  [[nodiscard]] static constexpr HostCall wait_message(std::uint32_t message) {
    return {HostCallKind::wait_message, StreamId::none(), message};
  }
  [[nodiscard]] static constexpr HostCall graph_load(std::uint32_t graph) {
    return {HostCallKind::graph_load, StreamId::none(), graph};
  }
  [[nodiscard]] static constexpr HostCall graph_launch(StreamId s, std::uint32_t graph) {
    return {HostCallKind::graph_launch, s, graph};
  }

  [[nodiscard]] constexpr HostCallKind kind() const {
    return static_cast<HostCallKind>((kind_and_stream_ & ~programmatic_bit) >> 24U);
  }
  /// Of a launch: may its first kernel start while the kernel before it drains? (CUDA's
  /// programmatic stream serialization.)
  [[nodiscard]] constexpr bool programmatic() const {
    return (kind_and_stream_ & programmatic_bit) != 0;
  }
  /// none() for calls without a stream.
  [[nodiscard]] constexpr StreamId stream() const {
    const std::uint32_t s = kind_and_stream_ & no_stream;
    return s == no_stream ? StreamId::none() : StreamId{s};
  }
  [[nodiscard]] constexpr TaskId task() const { return TaskId{argument_}; }
  [[nodiscard]] constexpr EventId event() const { return EventId{argument_}; }
  [[nodiscard]] constexpr Duration sleep_time() const {
    return std::chrono::nanoseconds{argument_};
  }
  [[nodiscard]] constexpr std::uint32_t message() const { return argument_; }
  [[nodiscard]] constexpr std::uint32_t graph() const { return argument_; }
  /// The recorded answer of a query, nullopt if there is none.
  [[nodiscard]] constexpr std::optional<bool> answer() const {
    return argument_ == none ? std::nullopt : std::optional<bool>{argument_ == 1};
  }
  [[nodiscard]] constexpr std::uint32_t argument() const { return argument_; }
  friend constexpr bool operator==(HostCall, HostCall) = default;

  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  static constexpr std::uint32_t max_streams = 0xFFFFFFU;

 private:
  static constexpr std::uint32_t no_stream = 0xFFFFFFU;
  static constexpr std::uint32_t programmatic_bit = 1U << 31U;
  constexpr HostCall(HostCallKind kind, StreamId stream, std::uint32_t argument)
      : kind_and_stream_((static_cast<std::uint32_t>(kind) << 24U) |
                         (stream.valid() ? stream.value() & no_stream : no_stream)),
        argument_(argument) {}

  std::uint32_t kind_and_stream_ = no_stream;
  std::uint32_t argument_ = none;
};
static_assert(sizeof(HostCall) == 8);

/// How a stream stands to the legacy default stream of its device (CUDA's "null stream"). What the
/// host puts into that stream starts only when all it has put into blocking streams of the device
/// before is complete, and the other way round; nothing of this concerns non-blocking streams.
enum class StreamSync : std::uint8_t {
  non_blocking,    ///< cudaStreamNonBlocking, or every stream of a program without a legacy one
  blocking,        ///< what cudaStreamCreate makes
  legacy_default,  ///< one per device at most; it is there from the start and has priority 0
};

/// A stream a plan uses. It exists from the start unless some host program creates it.
struct StreamSpec {
  DeviceId device{0};
  int priority = 0;    ///< as CUDA: 0 = default and lowest, negative = more urgent
  std::string name{};  ///< for tracks of a timeline; may be empty
  StreamSync sync = StreamSync::non_blocking;
  std::uint32_t partition = 0;  ///< of the device's units, see Plan::partitions

  friend bool operator==(const StreamSpec&, const StreamSpec&) = default;
};

/// Is the call one of the five that concern a message?
[[nodiscard]] constexpr bool concerns_message(HostCallKind kind) {
  return kind >= HostCallKind::send && kind <= HostCallKind::wait_message;
}

/// Whose call alone moves a message (MPI 4.1, 12.3; of IBTA's RDMA the write and the read).
enum class OneSided : std::uint8_t {
  none,  ///< both ends call
  put,   ///< written into memory of the receiver, who is not asked: leaves when sent, at any size
  get,   ///< read from memory of the owner, `from`, who has no call for it and learns nothing
};
template <>
struct EnumNames<OneSided> {
  static constexpr auto names = name_list("none", "put", "get");
};

/// A point-to-point message between two host threads, sent (unless it is got) and received once.
/// Receiving blocks until it has come; sending blocks until it has left, which a message above the
/// network's eager threshold (all, where there is none) does only when it is being received.
struct MessageSpec {
  HostId from;
  HostId to;
  Bytes bytes{};
  OneSided one_sided = OneSided::none;

  /// Does the sender go on, and the message leave, before it is being received?
  [[nodiscard]] bool leaves_at_once(Bytes eager_threshold) const {
    return one_sided == OneSided::put || bytes <= eager_threshold;
  }
  friend bool operator==(const MessageSpec&, const MessageSpec&) = default;
};

/// The ordered calls of one host thread.
struct HostProgram {
  std::string name;
  std::vector<HostCall> calls;

  friend bool operator==(const HostProgram&, const HostProgram&) = default;
};

/// The schedule as data: what each host thread calls, in which order. The same plan is checked,
/// simulated, executed on real devices, printed, saved and compared. Per-stream lists are a derived
/// view (see stream_view()).
struct Plan {
  std::string policy;  ///< who made it
  IdVector<StreamId, StreamSpec> streams;
  std::uint32_t event_count = 0;  ///< events are numbered 0..event_count-1
  std::vector<MessageSpec> messages;
  std::vector<DeviceGraph> graphs;  ///< known by their place in this list
  /// Units of partitions 1, 2, ... of every device (CUDA: green contexts); the kernels of streams
  /// in partition 0 are placed on those that are left.
  std::vector<std::uint32_t> partitions;
  IdVector<HostId, HostProgram> hosts{1};

  [[nodiscard]] std::size_t call_count() const;
  [[nodiscard]] std::size_t count(HostCallKind kind) const;
  /// "primary_2" or, for a stream without a name, "stream 4"; of a legacy default stream
  /// "primary_2 (legacy default)" or "legacy default".
  [[nodiscard]] std::string stream_name(StreamId stream) const;
  /// "step" or, for a graph without a name, "graph 4".
  [[nodiscard]] std::string graph_name(std::uint32_t graph) const;
  /// Is any launch or node of a graph programmatic?
  [[nodiscard]] bool programmatic() const;
  /// Tasks that its launches of any kind run.
  [[nodiscard]] std::size_t task_count() const;
  [[nodiscard]] std::size_t memory_bytes() const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Per stream the calls that concern it, in host order. With several host threads the order between
/// threads is that of the host ids. A graph is one call in the stream of its launch, whatever
/// streams its nodes carry.
[[nodiscard]] IdVector<StreamId, std::vector<HostCall>> stream_view(const Plan& plan);

/// Throws ContractViolation if a call or graph refers to a stream, event, message, graph or task
/// that does not exist or sends what its receiver gets, if a task is launched twice or never, if a
/// graph is launched by several hosts or not as often as it has rows of tasks, or if a legacy
/// default stream is not the only one of its device, has a priority, is created or destroyed, or
/// has nodes of a graph.
void expect_well_formed(const Plan& plan, std::size_t task_count);

}  // namespace schedlab
