// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/launch_clocks.hpp"

#include <algorithm>

namespace schedlab {

StreamId LaunchClocks::add_stream() {
  clocks_.emplace_back();
  return StreamId{static_cast<std::uint32_t>(clocks_.size() - 1)};
}

std::uint32_t LaunchClocks::position_in(const Clock& clock, StreamId stream) {
  const auto found = std::lower_bound(
      clock.begin(), clock.end(), stream.value(), [](const Entry& entry, std::uint32_t wanted) {
        return entry.stream < wanted;
      });
  return found != clock.end() && found->stream == stream.value() ? found->position : 0;
}

std::uint32_t LaunchClocks::advance(StreamId stream) {
  Clock& clock = clocks_[stream.value()];
  const auto own = std::lower_bound(
      clock.begin(), clock.end(), stream.value(), [](const Entry& entry, std::uint32_t wanted) {
        return entry.stream < wanted;
      });
  ++launches_;
  if (own != clock.end() && own->stream == stream.value()) {
    own->launched = launches_;
    return ++own->position;
  }
  clock.insert(own, {stream.value(), 1, launches_});
  return 1;
}

LaunchClocks::Snapshot LaunchClocks::snapshot(StreamId stream) {
  if (free_.empty()) {
    snapshots_.push_back(clocks_[stream.value()]);
    return static_cast<Snapshot>(snapshots_.size() - 1);
  }
  const Snapshot slot = free_.back();
  free_.pop_back();
  snapshots_[slot] = clocks_[stream.value()];
  return slot;
}

void LaunchClocks::release(Snapshot snapshot) {
  snapshots_[snapshot] = {};
  free_.push_back(snapshot);
}

void LaunchClocks::join(StreamId stream, Snapshot snapshot) {
  Clock& mine = clocks_[stream.value()];
  const Clock& other = snapshots_[snapshot];
  merged_.clear();
  auto a = mine.begin();
  auto b = other.begin();
  while (a != mine.end() || b != other.end()) {
    if (b == other.end() || (a != mine.end() && a->stream < b->stream)) {
      merged_.push_back(*a++);
    } else if (a == mine.end() || b->stream < a->stream) {
      merged_.push_back(*b++);
    } else {
      merged_.push_back(a->position >= b->position ? *a : *b);
      ++a;
      ++b;
    }
  }
  // A stream never forgets its own launches: their positions count on.
  const std::uint32_t own = position_in(merged_, stream);
  forget_old(merged_);
  mine.assign(merged_.begin(), merged_.end());
  if (own == 0 || position_in(mine, stream) == own) return;
  const auto place = std::lower_bound(
      mine.begin(), mine.end(), stream.value(), [](const Entry& entry, std::uint32_t wanted) {
        return entry.stream < wanted;
      });
  mine.insert(place, {stream.value(), own, 0});
}

void LaunchClocks::forget_old(Clock& clock) {
  if (clock.size() <= entries_max) return;
  std::vector<std::uint64_t> launched;
  for (const Entry& entry : clock) launched.push_back(entry.launched);
  const auto oldest = launched.end() - static_cast<std::ptrdiff_t>(entries_max);
  std::nth_element(launched.begin(), oldest, launched.end());
  std::erase_if(clock, [&](const Entry& entry) { return entry.launched < *oldest; });
}

std::uint32_t LaunchClocks::covered(Snapshot snapshot, StreamId stream) const {
  return position_in(snapshots_[snapshot], stream);
}

std::uint32_t LaunchClocks::known(StreamId stream, StreamId other) const {
  return position_in(clocks_[stream.value()], other);
}

}  // namespace schedlab
