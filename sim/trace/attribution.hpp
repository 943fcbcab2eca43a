// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

/// What a task that does not run yet waits for. Of several reasons at one instant counts the first
/// of this list.
enum class WaitCause : std::uint8_t {
  dependency,   ///< a task whose result it needs, or for which its stream waits, has not ended
  host,         ///< it was not yet submitted
  latency,      ///< launch latency, stream gap, event latency or node gap of its device
  connection,   ///< work of another stream is before it in its hardware queue
  copy_engine,  ///< a copy, while another one has the engine
  priority,  ///< more urgent tasks that became ready later, or that also wait for units, go first
  resource,  ///< other tasks run on its device
  other,     ///< nothing that the trace, the plan and the machine tell
  nothing_left,  ///< no task comes any more
};
inline constexpr std::size_t wait_cause_count = 9;
[[nodiscard]] std::string_view to_string(WaitCause cause);
using CauseTimes = std::array<Duration, wait_cause_count>;

/// Idle time of a stream: before a task, or after its last one.
struct StreamGap {
  StreamId stream;
  TaskId task;  ///< that ends the gap; none() after the last one
  Time begin{};
  Time end{};
  CauseTimes by_cause{};  ///< sums to end - begin

  [[nodiscard]] Duration duration() const { return end - begin; }
};

/// What a device does at an instant.
enum class DeviceBound : std::uint8_t {
  device_bound,      ///< a task runs
  host_bound,        ///< idle; the next task that starts was not yet submitted
  dependency_bound,  ///< idle; the next task needs something that runs elsewhere
  latency_bound,     ///< idle; the next task is under way, or waits for the device's own gaps
  other_bound,       ///< idle for any other reason
  nothing_left,      ///< idle after the device's last task
};
inline constexpr std::size_t device_bound_count = 6;
[[nodiscard]] std::string_view to_string(DeviceBound bound);
using BoundTimes = std::array<Duration, device_bound_count>;

/// One stretch of a device's time.
struct BoundSpan {
  DeviceId device;
  DeviceBound bound = DeviceBound::device_bound;
  Time begin{};
  Time end{};
  TaskId task;  ///< that runs or comes next; none() when nothing is left
};

/// A slice of the makespan; times of all devices.
struct BoundBin {
  Time begin{};
  Time end{};
  BoundTimes devices{};                           ///< sums to (end - begin) * devices
  std::array<Duration, path_bound_count> path{};  ///< sums to end - begin
};

/// All tasks with one value of a tag; -1: tasks without the tag, and what belongs to no task.
struct RegionShare {
  std::string_view tag;  ///< layer, step, stage or microbatch
  std::int32_t value = -1;
  std::uint32_t tasks = 0;
  BoundTimes devices{};  ///< over all regions of a tag: sums to makespan * devices
};

/// Where the time of a run went. All times are exact and sum to what they are parts of.
struct Attribution {
  Duration makespan{0};
  std::size_t devices = 1;
  std::vector<BoundSpan> spans;  ///< by device, then by time; partition of every device's makespan
  BoundTimes bound{};            ///< over all devices: sums to makespan * devices
  std::vector<PathSpan> path;    ///< by time; partition of the makespan
  std::array<Duration, path_bound_count> path_bound{};
  std::vector<StreamGap> gaps;  ///< by stream, then by time; none of length 0
  CauseTimes idle_by_cause{};   ///< of all streams: sums to their idle time
  std::vector<BoundBin> bins;
  std::vector<RegionShare> regions;  ///< by tag, then by value; tags that no task has are left out

  /// Share of the time of all devices; the shares of all bounds add up to 1.
  [[nodiscard]] double share(DeviceBound which) const;
  /// Share of the makespan; likewise.
  [[nodiscard]] double path_share(PathBound which) const;
};

/// Valid for simulated and measured traces. The trace must be of this plan; connections are told
/// only for plans of one host, and false dependencies show only where the platform has
/// connections. On one device without host work share(host_bound) is Summary::host_bound_share.
///
/// `path`: of the same trace. `bins`: at least 1.
/// Errors   ContractViolation for a task, stream or device that problem and plan do not have.
/// Cost     O(tasks * (log tasks + tasks running beside a waiting one) + edges).
[[nodiscard]] Attribution attribute(const Problem& problem,
                                    const Plan& plan,
                                    const Trace& trace,
                                    const TraceCriticalPath& path,
                                    std::size_t bins = 100);

}  // namespace schedlab
