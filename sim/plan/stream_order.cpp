// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/stream_order.hpp"

#include <algorithm>

namespace schedlab {

StreamId StreamOrder::add_stream() {
  for (Clock& clock : clocks_) clock.push_back(0);
  clocks_.emplace_back(clocks_.size() + 1, 0U);
  return StreamId{static_cast<std::uint32_t>(clocks_.size() - 1)};
}

void StreamOrder::launch(TaskId task, StreamId stream) {
  stream_[task] = stream;
  position_[task] = advance(stream);
}

StreamOrder::Snapshot StreamOrder::snapshot(StreamId stream) {
  const Clock& clock = clocks_[stream.value()];
  if (free_.empty()) {
    snapshots_.push_back(clock);
    return static_cast<Snapshot>(snapshots_.size() - 1);
  }
  const Snapshot slot = free_.back();
  free_.pop_back();
  snapshots_[slot].assign(clock.begin(), clock.end());
  return slot;
}

void StreamOrder::join(StreamId stream, Snapshot snapshot) {
  Clock& clock = clocks_[stream.value()];
  const Clock& other = snapshots_[snapshot];
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void StreamOrder::release(Snapshot snapshot) {
  free_.push_back(snapshot);
}

std::uint32_t StreamOrder::covered(Snapshot snapshot, StreamId stream) const {
  const Clock& clock = snapshots_[snapshot];
  return stream.value() < clock.size() ? clock[stream.value()] : 0U;
}

}  // namespace schedlab
