// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/machine/network.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Of which plans a bound speaks. Bounds of a problem hold for any number of streams.
struct PlanClass {
  std::uint32_t host_threads = 0;  ///< at most so many; 0: one per device
  std::uint32_t streams = 0;       ///< at most so many per device; 0: any number
  bool device_graphs = false;      ///< tasks may be launched as nodes of device graphs
  bool programmatic = false;       ///< kernels may be launched programmatically

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

/// Shortest time from the start of the task to its end, on the device where that is least. Beside
/// others a kernel is never faster, except one whose blocks slow each other down when alone: of
/// that the throughput and the rounds of blocks count.
[[nodiscard]] Duration min_duration(const Problem& problem, TaskId task);
/// From the end of a task to the start of one that depends on it.
class MinDelays {
 public:
  /// Cost  O(1); with ranks O(tasks + edges).
  explicit MinDelays(const BoundProblem& on);

  /// In the same stream, by an event, in a device graph, by a host that has seen the end, or
  /// between kernels of one task. On another rank: by a message, behind which its host launches.
  [[nodiscard]] Duration operator()(TaskId from, TaskId to) const;
  /// Between tasks of one rank.
  [[nodiscard]] Duration between_tasks() const { return tasks_; }
  [[nodiscard]] Duration between_kernels() const { return kernels_; }

 private:
  [[nodiscard]] Duration by_message(TaskId from, std::uint32_t to) const;

  const TaskGraph& graph_;
  const IdVector<TaskId, TaskId>* task_of_;
  Duration tasks_{0};
  Duration kernels_{0};
  Duration by_host_{0};
  Duration send_{0};
  std::vector<RankMessage> messages_;
  Routes routes_;
};

/// A result that another rank reads crosses a link, which it has for itself that long, in
/// picoseconds, rounded down.
struct LinkUse {
  LinkId link;
  TaskId producer;
  std::uint32_t to = 0;  ///< the rank that reads it
  std::int64_t time = 0;
};
/// By rising link; empty without ranks or a network. Every result is sent once to each rank that
/// reads it (rank_messages()). Cost  O(tasks + edges + hops log hops).
[[nodiscard]] std::vector<LinkUse> link_uses(const BoundProblem& on);
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
  units,       ///< of a class: whole units (`exclusive`) or slots for blocks (`fluid`)
  throughput,  ///< of a class, under `fluid` and `blocks`
  memory,      ///< bandwidth of a device, under `fluid` and `blocks`
  wide_tasks,  ///< tasks that need more than 1/(capacity + 1) of the units of a class (`exclusive`)
  streams,     ///< of a plan class that limits them
  host_calls,  ///< threads that launch tasks
  front_ends,  ///< threads that prepare them
  link,        ///< of the network, which link_uses() has
};
template <>
struct EnumNames<BoundResource> {
  static constexpr auto names = name_list(
      "units", "throughput", "memory", "wide_tasks", "streams", "host_calls", "front_ends", "link");
};

/// A resource of one device, or of all where tasks may run on any.
struct Pool {
  BoundResource resource = BoundResource::units;
  DeviceId device{};         ///< none(): all devices together
  UnitClassId unit_class{};  ///< of units, throughput and wide_tasks
  LinkId link{};
  std::uint64_t capacity = 1;

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// All limited resources of the problem but links. Cost  O(tasks) for wide_tasks, else O(devices).
[[nodiscard]] std::vector<Pool> pools_of(const BoundProblem& on);

/// What the task takes of the pool from its start to its end, in picoseconds of one unit of its
/// capacity, rounded down; 0 if it can do without. The sum over tasks that run between two times is
/// at most the capacity times the time between.
[[nodiscard]] std::int64_t amount(const BoundProblem& on, const Pool& pool, TaskId task);

/// The pool's part in the task: no earlier than this, with such a head, ...
[[nodiscard]] Duration use_head(const BoundProblem& on,
                                const Pool& pool,
                                TaskId task,
                                Duration head);
/// ... and before so much more of the run, of which `tail` comes after the task.
[[nodiscard]] Duration use_tail(const BoundProblem& on,
                                const Pool& pool,
                                TaskId task,
                                Duration tail);
/// A host thread's time: a task needs it before its start.
[[nodiscard]] bool serves_before_start(const Pool& pool);

/// Do tasks last as long as they must, and no longer, whatever runs beside them?
[[nodiscard]] bool lasts_exactly(const BoundProblem& on);

/// Does the task hold amount / min_duration of the pool all the time? Then what it must take within
/// a window is known (energetic bounds).
[[nodiscard]] bool held_throughout(const BoundProblem& on, const Pool& pool);

/// All durations, delays and earliest launches are multiples of it, at least 1 ps. Where pools are
/// held throughout, all starts of a schedule may be rounded down to its multiples: bounds of such
/// pools are rounded up to one. Cost  O(tasks).
[[nodiscard]] Duration time_step(const BoundProblem& on);

}  // namespace schedlab
