// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// What is known to be complete before what while streams are filled, as StreamOrder knows it, for
/// any number of streams: a stream's clock has entries only for streams that it comes after, and no
/// more than `entries_max`, those of the latest launches. What is forgotten counts as not known,
/// which costs its user a needless wait and no order.
///
/// Cost  advance O(1); known and covered O(log entries), snapshot and join O(entries).
class LaunchClocks {
 public:
  /// A clock as an event captured it. Slots are used again after release().
  using Snapshot = std::uint32_t;
  static constexpr std::size_t entries_max = 256;  // assumed: more streams than programs have

  StreamId add_stream();
  /// One more launch on the stream; its position, from 1 on.
  std::uint32_t advance(StreamId stream);
  /// What an event that is recorded on `stream` now stands for.
  [[nodiscard]] Snapshot snapshot(StreamId stream);
  /// From now on `stream` comes after the snapshot.
  void join(StreamId stream, Snapshot snapshot);
  void release(Snapshot snapshot);
  /// How many launches of `stream` the snapshot covers.
  [[nodiscard]] std::uint32_t covered(Snapshot snapshot, StreamId stream) const;
  /// How many launches of `other` are complete before what is launched on `stream` from now on.
  [[nodiscard]] std::uint32_t known(StreamId stream, StreamId other) const;

 private:
  struct Entry {
    std::uint32_t stream = 0;
    std::uint32_t position = 0;
    std::uint64_t launched = 0;  // of all launches: which one this was
  };
  using Clock = std::vector<Entry>;  // by stream

  [[nodiscard]] static std::uint32_t position_in(const Clock& clock, StreamId stream);
  void forget_old(Clock& clock);

  std::vector<Clock> clocks_;  // by stream, its own launches included
  std::vector<Clock> snapshots_;
  std::vector<Snapshot> free_;
  Clock merged_;  // scratch of join()
  std::uint64_t launches_ = 0;
};

}  // namespace schedlab
