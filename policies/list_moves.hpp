// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "sim/plan/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// Better lists for equal streams from a schedule, by the problem's durations alone (no host, no
/// latencies). What they return is for place_on_earliest_finish() with insertion. Not among streams
/// of different devices. Shapes  ends: when each task ends in the schedule, one per task.
class ListMoves {
 public:
  using Ends = IdVector<TaskId, Time>;

  explicit ListMoves(const Problem& problem);

  /// Forward-backward improvement: all tasks as late as they go, the last end first, and then
  /// listed by their start. In the durations alone the next schedule is no longer than that of
  /// `ends` (Li, Willis, EJOR 56(3), 1992; Valls, Ballestin, Quintanilla, EJOR 165(2), 2005,
  /// doi 10.1016/j.ejor.2004.04.008).
  /// Cost  as place_on_earliest_finish() with insertion.
  [[nodiscard]] Urgency justified(const Ends& ends, std::uint32_t streams) const;

  /// The tasks that are `first` to `first + count - 1` by start, in the order that leaves least
  /// behind them: the longest of the paths from their ends and of the work of all later tasks over
  /// the streams, then the sum of the times at which streams are free. Exact by branch and bound,
  /// the best of `most_nodes` where that is not enough.
  [[nodiscard]] Urgency with_best_window(const Ends& ends,
                                         std::uint32_t streams,
                                         std::size_t first,
                                         std::size_t count) const;

  static constexpr std::size_t most_nodes = 20'000;

 private:
  class Window;

  [[nodiscard]] std::vector<TaskId> by_start(const Ends& ends) const;

  Problem problem_;
  IdVector<TaskId, Duration> duration_;
  IdVector<TaskId, Duration> rank_;  // longest path from the task's start
  Duration shortest_{0};
};

}  // namespace schedlab
