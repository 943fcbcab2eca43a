// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Of which plans a bound speaks. Bounds of a problem hold for any number of streams.
struct PlanClass {
  std::uint32_t host_threads = 0;  ///< at most so many; 0: one per device
  std::uint32_t streams = 0;       ///< at most so many per device; 0: any number
  bool device_graphs = false;      ///< tasks may be launched as nodes of device graphs

  friend bool operator==(const PlanClass&, const PlanClass&) = default;
};

/// What is to be bounded. References: they must outlive it.
struct BoundProblem {
  /// The graph has all dependencies. Where tasks run kernel by kernel it is that of the kernels.
  Problem problem;
  PlanClass plans{};
  /// Of kernels: the task that each belongs to; nullptr: every task is one kernel. Kernels of one
  /// task follow each other in its stream.
  const IdVector<TaskId, TaskId>* task_of = nullptr;
  /// false: it depends on the plan which units a task holds, and none counts.
  bool units = true;
};

// What any plan of the class must spend, on any machine of the three sharing models: the rules of
// docs/machine_model.md, each as the least it can come to. docs/bounds.md has the arguments.

/// Shortest time from the start of the task to its end, on the device where that is least. In
/// company a kernel is never faster, except one whose blocks slow each other down when alone: of
/// that the throughput and the rounds of blocks count.
[[nodiscard]] Duration min_duration(const Problem& problem, TaskId task);
/// From the end of a task to the start of one that depends on it: in the same stream, by an event,
/// in a device graph, or by a host that has seen the end.
[[nodiscard]] Duration min_delay(const BoundProblem& on);
/// The same between kernels of one task.
[[nodiscard]] Duration min_kernel_delay(const BoundProblem& on);
/// Host time of launching the task; of a node, its part of the launch of its graph.
[[nodiscard]] Duration launch_time(const BoundProblem& on, TaskId task);
/// Preparation by a front end with a thread of its own; else 0.
[[nodiscard]] Duration preparation_time(const BoundProblem& on, TaskId task);
/// No task starts before: a launch that concerns it has been made and has arrived.
[[nodiscard]] Duration min_start(const BoundProblem& on, TaskId task);
/// From the end of a host call to its arrival on a device.
[[nodiscard]] Duration min_launch_latency(const Platform& platform);
[[nodiscard]] std::uint32_t host_threads(const BoundProblem& on);

/// Of which no more than its capacity is used at any time.
enum class BoundResource : std::uint8_t {
  units,       ///< of a class: whole units (`exclusive`) or room for blocks (`fluid`)
  throughput,  ///< of a class, under `fluid` and `blocks`
  memory,      ///< bandwidth of a device, under `fluid` and `blocks`
  wide_tasks,  ///< tasks that need more than 1/(capacity + 1) of the units of a class (`exclusive`)
  streams,     ///< of a plan class that limits them
};
template <>
struct EnumNames<BoundResource> {
  static constexpr auto names = name_list("units", "throughput", "memory", "wide_tasks", "streams");
};

/// A resource of one device, or of all where tasks may run on any.
struct Pool {
  BoundResource resource = BoundResource::units;
  DeviceId device{};         ///< none(): all devices together
  UnitClassId unit_class{};  ///< of units, throughput and wide_tasks
  std::uint64_t capacity = 1;

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// All limited resources of the problem. Cost  O(tasks) for wide_tasks, else O(devices).
[[nodiscard]] std::vector<Pool> pools_of(const BoundProblem& on);

/// What the task takes of the pool from its start to its end, in picoseconds of one unit of its
/// capacity, rounded down; 0 if it can do without. The sum over tasks that run between two times is
/// at most the capacity times the time between.
[[nodiscard]] std::int64_t amount(const BoundProblem& on, const Pool& pool, TaskId task);

/// Does the task hold amount / min_duration of the pool all the time? Then what it must take within
/// a window is known (energetic bounds).
[[nodiscard]] bool held_throughout(const BoundProblem& on, const Pool& pool);

/// All durations, delays and earliest launches are multiples of it, at least 1 ps. Where pools are
/// held throughout, all starts of a schedule may be rounded down to its multiples: bounds of such
/// pools are rounded up to one. Cost  O(tasks).
[[nodiscard]] Duration time_step(const BoundProblem& on);

}  // namespace schedlab
