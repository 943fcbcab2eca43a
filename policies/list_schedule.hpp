// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/placing_policy.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Streams of a list scheduler that is not told how many: 4, as in most published comparisons on
/// the Standard Task Graph Set.
inline constexpr std::uint32_t default_list_streams = 4;

/// Urgency of tasks, one per task; a higher one is dispatched first, the lower task id among
/// equals.
using Urgency = IdVector<TaskId, std::int64_t>;

[[nodiscard]] Urgency urgency_of(const IdVector<TaskId, Duration>& rank);

/// Plays the graph on `streams` equal streams in estimated time: whenever a stream is idle (the one
/// that has been idle longest, the lower id among equals) it takes the most urgent ready task. A
/// task that adds into a tensor while another one does waits without holding a stream. Without
/// `urgency` (empty) tasks are taken in the order in which they became ready. Cost O((tasks +
/// edges) log tasks). The makespan is at most (2 - 1/streams) times the optimum (Graham, SIAM J.
/// Appl. Math. 17(2), 1969, doi 10.1137/0117039).
[[nodiscard]] PlanBuilder dispatch_when_idle(const Problem& problem,
                                             std::uint32_t streams,
                                             const Urgency& urgency);

/// May a task start before one that was placed on its stream earlier?
enum class Insertion : std::uint8_t {
  none,       ///< each task goes behind all that its stream has
  idle_gaps,  ///< it may go into a gap between them that is long enough for it
};

/// In order of urgency, but never before a predecessor, each task goes to the stream on which it
/// ends first, the lowest id among equals. With insertion the whole schedule is worked out first,
/// and its tasks are then put into their streams in order of their start: a stream is a FIFO. As
/// long as durations come true and the host is free, the plan runs exactly as it was worked out;
/// where an inserted task is late, what is behind it in its stream waits for it. Tasks that add
/// into one tensor keep the order in which they were placed.
/// Cost  O(tasks (log tasks + streams) + edges) without insertion; with it times O(log gaps), at
///       worst O(sqrt(gaps)).
[[nodiscard]] PlanBuilder place_on_earliest_finish(const Problem& problem,
                                                   std::uint32_t streams,
                                                   const Urgency& urgency,
                                                   Insertion insertion);

/// The knob all list schedulers have.
[[nodiscard]] std::vector<OptionSpec> list_options();

}  // namespace schedlab
