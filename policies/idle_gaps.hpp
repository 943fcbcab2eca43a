// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstddef>
#include <vector>

namespace schedlab {

/// When one stream is idle in a plan whose tasks are placed in any order: the gaps before its last
/// task, and all time after it.
///
/// Cost  O(log gaps) where the first gap that is late enough is long enough, which is the rule;
///       O(sqrt(gaps)) for up to 10^6 gaps otherwise.
class IdleGaps {
 public:
  /// `shortest`: of all tasks; shorter gaps are forgotten. If it is 0, a moment between two tasks
  /// is a gap.
  explicit IdleGaps(Duration shortest) : shortest_(shortest) {}

  /// The earliest time, not before `ready`, from which the stream is idle for `length`.
  [[nodiscard]] Time earliest_start(Time ready, Duration length) const {
    if (ready >= end_) return ready;
    return length > longest_ ? end_ : first_fit(ready, length);
  }
  /// `start` must be an answer of earliest_start() for the same length.
  void occupy(Time start, Duration length);

 private:
  struct Gap {
    Time begin;
    Time end;
  };
  /// Neighbouring gaps; never empty. What is too short for a task is skipped at once.
  struct Chunk {
    std::vector<Gap> gaps;
    Duration longest{0};

    void measure();
  };
  static constexpr std::size_t largest_chunk = 512;

  [[nodiscard]] Time first_fit(Time ready, Duration length) const;
  [[nodiscard]] std::size_t first_chunk(Time end) const;
  [[nodiscard]] static std::size_t first_gap(const Chunk& chunk, Time end);
  void append(Gap gap);
  void split(std::size_t chunk_index, std::size_t gap_index, Time start, Duration length);
  void halve(std::size_t chunk_index);

  Duration shortest_;
  Duration longest_{-1};  ///< of the gaps there have been
  Time end_{};            ///< of the last task
  std::vector<Chunk> chunks_;
};

}  // namespace schedlab
