// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab::detail {

/// Which tasks of a run are not known to be complete: those that an error of a device may concern.
/// What the host has been told is all that counts, not what events order on the device.
class UnfinishedTasks {
 public:
  /// `graph` must outlive this. Without `kept` none is kept: nothing is ever unfinished.
  explicit UnfinishedTasks(const TaskGraph& graph, bool kept = true) : graph_(graph), kept_(kept) {}

  [[nodiscard]] bool kept() const { return kept_; }
  void launched(StreamId stream, TaskId task);
  void recorded(StreamId stream, EventId event);
  /// The host was told that a stream, an event's latest record, or everything is complete.
  void finished(StreamId stream);
  void finished(EventId event);
  void finished();

  [[nodiscard]] bool empty() const;
  /// "a, b, c and 17 more", in the order of streams.
  [[nodiscard]] std::string names() const;

 private:
  struct Stream {
    std::vector<TaskId> tasks;
    std::size_t complete = 0;  // of them, from the front
  };
  struct Record {
    StreamId stream;
    std::size_t tasks = 0;  // that the stream had been given
  };
  Stream& of(StreamId stream);

  const TaskGraph& graph_;
  bool kept_;
  IdVector<StreamId, Stream> streams_;
  IdVector<EventId, Record> records_;
};

}  // namespace schedlab::detail
