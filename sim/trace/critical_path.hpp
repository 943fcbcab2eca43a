// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

/// Why a task of a trace's critical path did not start earlier.
enum class PathCause : std::uint8_t {
  run_start,     ///< nothing held it up
  dependency,    ///< it needs a result, or an event its stream waited for
  stream_order,  ///< the task before it in its stream, of which it needs nothing
  host,          ///< it was not yet submitted
  resource,      ///< units or a hardware queue were taken by another task
};
inline constexpr std::size_t path_cause_count = 5;
[[nodiscard]] std::string_view to_string(PathCause cause);

struct PathStep {
  TaskId task;
  PathCause cause = PathCause::run_start;
  Duration waited{
      0};  ///< from the end of the step before (or the start of the run) to its own start
  Duration ran{0};
  /// Part of `ran`: what the task took longer than alone, where kernels share units and bandwidth.
  /// A kernel whose later blocks wait for units counts from its first block on.
  Duration slowed{0};

  friend bool operator==(const PathStep&, const PathStep&) = default;
};

/// The chain of tasks and waits that decided how long a run took. Its parts add up to the makespan:
/// running + the sum of `waited` + tail.
struct TraceCriticalPath {
  std::vector<PathStep> steps;                          ///< first to last
  Duration running{0};                                  ///< sum of `ran`
  Duration slowed{0};                                   ///< sum of `slowed`; part of running
  std::array<Duration, path_cause_count> waited{};      ///< sum of `waited`, by cause
  std::array<std::uint32_t, path_cause_count> count{};  ///< steps by cause
  Duration tail{0};                                     ///< host activity after the last task

  [[nodiscard]] Duration waited_for(PathCause cause) const {
    return waited[static_cast<std::size_t>(cause)];
  }
  [[nodiscard]] std::uint32_t steps_by(PathCause cause) const {
    return count[static_cast<std::size_t>(cause)];
  }
};

/// Walks back from the task that ended last: at each task to whatever let it start, which is the
/// latest of its predecessors in the graph, the task before it in its stream, the events its stream
/// waited for (where the trace has them) and its submission; or, if all of these were in time, the
/// task that gave its units free. Ties: dependency, stream order, host. From a late submission the
/// walk goes on at the task for which that host thread was last blocked; if it never was, the path
/// starts with the host.
///
/// Valid for any trace of the problem, simulated or measured; without recorded host calls every
/// wait for a submission starts the path. Cost   O(tasks * log tasks + edges).
[[nodiscard]] TraceCriticalPath trace_critical_path(const Problem& problem, const Trace& trace);

}  // namespace schedlab
