// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// What is known to be complete before what, while a plan grows: one vector clock per stream.
/// Makers of plans ask it which waits are still needed; the plan checker does not use it.
///
/// Cost  launch and ordered O(1); snapshot and join O(streams).
class StreamOrder {
 public:
  /// A clock as an event captured it. Slots are used again after release().
  using Snapshot = std::uint32_t;

  explicit StreamOrder(std::size_t task_count) : stream_(task_count), position_(task_count, 0) {}

  StreamId add_stream();
  /// Reserves this many streams at once.
  void reserve_streams(std::size_t count);
  [[nodiscard]] std::size_t stream_count() const { return streams_; }

  void launch(TaskId task, StreamId stream);
  /// One more launch on the stream, of a task that the caller keeps account of; its position.
  std::uint32_t advance(StreamId stream) { return ++clock(stream)[stream.value()]; }
  [[nodiscard]] bool launched(TaskId task) const { return stream_[task].valid(); }
  [[nodiscard]] StreamId stream_of(TaskId task) const { return stream_[task]; }
  /// 1 for the first task of its stream; 0 if it is not launched.
  [[nodiscard]] std::uint32_t position(TaskId task) const { return position_[task]; }
  /// Tasks launched on the stream so far.
  [[nodiscard]] std::uint32_t length(StreamId stream) const {
    return clock(stream)[stream.value()];
  }
  /// Is the launched `task` complete before anything that is launched on `stream` from now on?
  [[nodiscard]] bool ordered(TaskId task, StreamId stream) const {
    return clock(stream)[stream_[task].value()] >= position_[task];
  }

  /// What an event that is recorded on `stream` now stands for.
  [[nodiscard]] Snapshot snapshot(StreamId stream);
  /// From now on `stream` comes after the snapshot.
  void join(StreamId stream, Snapshot snapshot);
  void release(Snapshot snapshot) { free_.push_back(snapshot); }
  /// How many tasks of `stream` the snapshot covers.
  [[nodiscard]] std::uint32_t covered(Snapshot snapshot, StreamId stream) const;
  /// How many tasks of `other` are complete before what is launched on `stream` from now on.
  [[nodiscard]] std::uint32_t known(StreamId stream, StreamId other) const {
    return clock(stream)[other.value()];
  }

 private:
  [[nodiscard]] std::uint32_t* clock(StreamId stream) {
    return clocks_.data() + stream.value() * stride_;
  }
  [[nodiscard]] const std::uint32_t* clock(StreamId stream) const {
    return clocks_.data() + stream.value() * stride_;
  }

  IdVector<TaskId, StreamId> stream_;
  IdVector<TaskId, std::uint32_t> position_;
  std::size_t streams_ = 0;
  std::size_t stride_ = 0;  // of both tables
  std::vector<std::uint32_t> clocks_;
  std::vector<std::uint32_t> snapshots_;  // what was not yet a stream is 0
  std::vector<Snapshot> free_;
};

}  // namespace schedlab
