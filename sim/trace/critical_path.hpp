// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

/// Why a task of a trace's critical path did not start earlier. What the path waited for divides
/// the waits further: a host, a launch or a message on the way.
enum class PathCause : std::uint8_t {
  run_start,     ///< nothing that is known held it up
  dependency,    ///< it needs a result, or an event its stream waited for
  stream_order,  ///< the task before it in its stream, of which it needs nothing
  host,          ///< it was not yet submitted
  resource,      ///< units or a hardware queue were taken by another task
  launch,        ///< of waits only: submitted, and not yet arrived at the device
  message,       ///< of waits only: the host that submitted it waited for a message under way
};
inline constexpr std::size_t path_cause_count = 7;
template <>
struct EnumNames<PathCause> {
  static constexpr auto names =
      name_list("run_start", "dependency", "stream_order", "host", "resource", "launch", "message");
};

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

/// What the critical path does at an instant: who would have to be faster.
enum class PathBound : std::uint8_t {
  device,   ///< a task of the path runs, or waits for what other tasks of the device hold
  host,     ///< the path waits for a submission, or for hosts at the end of the run
  latency,  ///< nothing of it runs: between two tasks, or from a submission to its arrival
  message,  ///< a message between hosts is on its way
};
inline constexpr std::size_t path_bound_count = 4;
[[nodiscard]] std::string_view to_string(PathBound bound);

struct PathSpan {
  PathBound bound = PathBound::device;
  Time begin{};
  Time end{};

  friend bool operator==(const PathSpan&, const PathSpan&) = default;
};

/// The chain of tasks and waits that decided how long a run took. Its parts add up to the makespan:
/// running + the sum of `waited` + tail.
struct TraceCriticalPath {
  std::vector<PathStep> steps;                          ///< first to last
  Duration running{0};                                  ///< sum of `ran`
  Duration slowed{0};                                   ///< sum of `slowed`; part of running
  std::array<Duration, path_cause_count> waited{};      ///< sum of `waited`, by cause
  std::array<std::uint32_t, path_cause_count> count{};  ///< steps by cause
  Duration tail{0};                                     ///< after the last of the path's tasks
  std::vector<PathSpan> spans;  ///< by time, neighbours differ; partition of the makespan
  std::array<Duration, path_bound_count> bound{};  ///< sums to the makespan

  [[nodiscard]] Duration waited_for(PathCause cause) const {
    return waited[static_cast<std::size_t>(cause)];
  }
  [[nodiscard]] std::uint32_t steps_by(PathCause cause) const {
    return count[static_cast<std::size_t>(cause)];
  }
  /// Part of the makespan; 0 of a run that takes no time.
  [[nodiscard]] double share(PathBound which) const;
};

/// What is known beside a trace.
struct PathFacts {
  /// The trace's plan, which tells what an event stands for that a host waits for. Null: not known,
  /// and the host's task that ended last before is taken.
  const Plan* plan = nullptr;
  /// Does the platform have all limits that held tasks up? Then a device without any held none up.
  bool limits = false;
};

/// Why one span of a trace did not start earlier.
struct TaskRelease {
  static constexpr std::uint32_t none = 0xFFFF'FFFFU;

  std::uint32_t by = none;  ///< index in Trace::tasks of who let it start
  PathCause cause = PathCause::run_start;

  friend bool operator==(const TaskRelease&, const TaskRelease&) = default;
};

/// What each span of a trace waited for, in the order of Trace::tasks, by the rules of
/// trace_critical_path(): where a host was late, `by` is the task that this host waited for last,
/// if there is one. Valid and cost as there.
[[nodiscard]] std::vector<TaskRelease> task_releases(const Problem& problem,
                                                     const Trace& trace,
                                                     const PathFacts& facts = {});

/// Walks back from what ended last, a task or a host: at each task to whatever let it start, which
/// is the latest of its predecessors in the graph, the task before it in its stream, the events its
/// stream waited for (where the trace has them) and its submission; or, if all of these were in
/// time, the task that gave its units free. Ties: dependency, stream order, host. From a late
/// submission the walk goes on where that host was last blocked: at the task that it waited for, or
/// at the message, and with that at the host that sent it (or, if the message had to wait for its
/// receiver, at that one). If the host never was blocked, the path starts with it.
///
/// Valid for any trace of the problem, simulated or measured; without recorded host calls every
/// wait for a submission starts the path.
/// Cost   O((tasks + calls) * log + edges).
[[nodiscard]] TraceCriticalPath trace_critical_path(const Problem& problem,
                                                    const Trace& trace,
                                                    const PathFacts& facts = {});

}  // namespace schedlab
