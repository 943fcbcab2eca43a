// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task.hpp"
#include "sim/plan/partitions.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// One task as it ran.
struct TaskSpan {
  TaskId task;
  StreamId stream;
  HostId host;  ///< who launched it
  DeviceId device;
  Time submitted{};  ///< the host call returned
  Time started{};
  Time ended{};

  [[nodiscard]] Duration duration() const { return ended - started; }
  friend bool operator==(const TaskSpan&, const TaskSpan&) = default;
};

/// One host call as it ran. A blocked call lasts until it is released.
struct HostSpan {
  HostId host;
  std::uint32_t call = 0;  ///< index in the host's program
  HostCall what;
  Time started{};
  Time ended{};
  Duration blocked{
      0};  ///< part of the span in which the host waited (queue full, synchronize, sleep, message)

  friend bool operator==(const HostSpan&, const HostSpan&) = default;
};

/// A wait that was resolved: the arrow between two streams.
struct EventFlow {
  EventId event;
  StreamId from;    ///< where it was recorded
  StreamId to;      ///< which stream waited
  Time recorded{};  ///< the event completed
  Time released{};  ///< the waiting stream went on

  friend bool operator==(const EventFlow&, const EventFlow&) = default;
};

/// A message on the network: from its first byte's departure to its arrival.
struct MessageSpan {
  std::uint32_t message = 0;  ///< index in Plan::messages
  HostId from;
  HostId to;
  Bytes bytes{};
  Time left{};
  Time arrived{};

  friend bool operator==(const MessageSpan&, const MessageSpan&) = default;
};

/// What happened, simulated or measured: one type for both.
struct Trace {
  std::vector<TaskSpan> tasks;        ///< in launch order (host 0 first)
  std::vector<HostSpan> hosts;        ///< empty if not recorded
  std::vector<EventFlow> flows;       ///< empty if not recorded
  std::vector<MessageSpan> messages;  ///< by arrival; empty if flows are not recorded
  Time ended{};  ///< last activity of hosts and devices; the makespan is measured from 0

  /// From the start of the run to the last activity.
  [[nodiscard]] Duration makespan() const { return ended.time_since_epoch(); }
  friend bool operator==(const Trace&, const Trace&) = default;
};

/// What a picture or an exporter needs to know of a task.
struct TaskLabel {
  std::string name;
  std::string operation;
  TaskKind kind = TaskKind::fixed;
  bool critical = false;
  double share = 1.0;  ///< of its device's units while it runs; 0 for copies and host work

  friend bool operator==(const TaskLabel&, const TaskLabel&) = default;
};

/// A trace that stands alone, without its graph and plan: what is saved, loaded, drawn and
/// compared.
struct TraceDocument {
  std::string title;
  std::string origin;   ///< "simulated", "measured cpu", "imported": how the times came about
  std::string policy;   ///< who made the plan; may be empty
  std::string machine;  ///< name of the platform; may be empty
  Trace trace;
  IdVector<TaskId, TaskLabel> tasks;
  IdVector<StreamId, StreamSpec> streams;
  IdVector<StreamId, UnitPart> unit_parts;  ///< empty: devices' units are not divided
  IdVector<DeviceId, std::string> devices;
  IdVector<HostId, std::string> hosts;

  friend bool operator==(const TraceDocument&, const TraceDocument&) = default;
};

}  // namespace schedlab
