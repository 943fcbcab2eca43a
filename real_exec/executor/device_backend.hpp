// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "real_exec/executor/execution.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/device_graph.hpp"
#include "sim/plan/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace schedlab {

/// What a device says of itself.
struct DeviceProperties {
  std::string name;
  std::string executor = "the device executor";  ///< who refuses a plan, in messages
  /// Priorities that its streams may have, as CUDA numbers them: lower is more urgent.
  int least_priority = 0;
  int greatest_priority = 0;
  std::uint32_t units = 0;  ///< multiprocessors or cores; 0 = not known
  Bytes memory{};           ///< 0 = not known
  /// A kernel can start while the one before it drains (CUDA: compute capability 9.0 and later).
  bool programmatic_launches = false;
  /// Why its units cannot be divided into partitions; empty: they can (CUDA: green contexts).
  std::string no_partitions = "it does not divide a device's units (green contexts)";
  /// Cores of this computer: graphs are held as they are given, errors name their own tasks, and
  /// every run has the times of its tasks.
  bool is_host = false;

  /// The priority that a stream of a plan gets here: the plan's, clamped to the range.
  [[nodiscard]] int device_priority(int priority) const {
    if (priority > least_priority) return least_priority;
    return priority < greatest_priority ? greatest_priority : priority;
  }
};

/// How a backend takes the times of single tasks.
enum class TaskTiming : std::uint8_t {
  none,      ///< not at all: nothing between the tasks of a stream, for makespans
  events,    ///< a timing event of the device before and after each task
  profiler,  ///< not by the backend: a profiler adds them after the run (set_task_times)
};
template <>
struct EnumNames<TaskTiming> {
  static constexpr auto names = name_list("none", "events", "profiler");
};

/// When a task ran, in time since the start of the run on the host's clock.
struct TaskTime {
  TaskId task;
  Time started{};
  Time ended{};

  friend bool operator==(const TaskTime&, const TaskTime&) = default;
};

/// What one run needs; the backend prepares it, so that calls of the run cost what they must.
struct RunRequest {
  const TaskGraph& graph;
  std::uint32_t stream_count = 0;  ///< that the plan uses; 0: not known before (a policy decides)
  std::uint32_t event_count = 0;   ///< the same of events
  TaskTiming timing = TaskTiming::none;
};

/// One launch of a device graph that a plan has: its nodes with the tasks of one row.
struct GraphRow {
  std::uint32_t graph = 0;  ///< number in the plan
  std::uint32_t row = 0;
  const DeviceGraph& shape;
  /// By node, as StreamSpec::priority was mapped to the device. Without node priorities all nodes
  /// have that of the stream of the launch.
  std::vector<int> priorities;
};

/// A node as the device holds it, read back from it.
struct LoadedNode {
  std::size_t parts = 0;             ///< kernels and copies that the task became; 0: nothing to run
  std::optional<int> priority;       ///< nullopt: no part has one (copies)
  std::vector<std::uint32_t> needs;  ///< nodes whose parts its own depend on, sorted
};

/// Told of every launch, so that a profiler can say which task a kernel belongs to. Called by the
/// host's thread between the clock readings of the call, so keep it short.
class LaunchObserver {
 public:
  LaunchObserver() = default;
  LaunchObserver(const LaunchObserver&) = delete;
  LaunchObserver& operator=(const LaunchObserver&) = delete;
  virtual ~LaunchObserver() = default;

  /// Around the launch of a task's kernels into a stream.
  virtual void before(TaskId /*task*/) {}
  virtual void after(TaskId /*task*/) {}
  /// Around the making of a graph's node, before the run: whatever nodes the device makes in
  /// between on this thread are parts of this task.
  virtual void before_node(TaskId /*task*/, std::uint32_t /*graph*/, std::uint32_t /*node*/) {}
  virtual void after_node(TaskId /*task*/, std::uint32_t /*graph*/, std::uint32_t /*node*/) {}
  /// Around the launch of a row of a graph.
  virtual void before_graph(std::uint32_t /*graph*/, std::uint32_t /*row*/) {}
  virtual void after_graph(std::uint32_t /*graph*/, std::uint32_t /*row*/) {}
};

/// A device with streams and events as CUDA has them: all that DeviceExecutor asks of one. The
/// cores of this computer are one (CpuBackend); another kind (ACL, OpenCL) is one more
/// implementation. Streams and events bear the numbers that the plan gives them; what a task
/// launches is the backend's own affair.
///
/// Calls mean what HostCall says. All may throw DeviceError, with the call and the device's own
/// name of the error; errors of work that was launched earlier may come from any later call.
/// Used by one thread at a time.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;
  virtual ~DeviceBackend() = default;

  [[nodiscard]] virtual const DeviceProperties& properties() const = 0;

  /// Before the calls of a run: everything idle, what tasks add into at its first value again.
  virtual void begin_run(const RunRequest& request) = 0;
  /// Makes a row of a graph; not part of the run's time. Calls the observer, if any, around each
  /// node. Returns the nodes as the device holds them.
  virtual std::vector<LoadedNode> load_graph(const GraphRow& row, LaunchObserver* observer) = 0;
  /// Streams that are created from now on, until the next run begins, are bound to the units of
  /// their partition (Plan::partitions). Only on devices that have partitions.
  virtual void divide_units(const std::vector<std::uint32_t>& /*partitions*/) {}
  /// Brings the device into the state that all runs begin in whose times are compared: some
  /// milliseconds of products, so that clocks are those of a busy device, then caches full of what
  /// no run reads. Where that is not known how to do, nothing.
  virtual void begin_steadily() {}
  /// The clock of the run, whose time 0 is now; the device is idle.
  [[nodiscard]] virtual CpuClock start_clock() = 0;

  /// Before each call of the run and outside its time. Throws what has ended the run meanwhile.
  virtual void before_call() {}
  /// `priority` is the stream's within the device's range.
  virtual void create_stream(StreamId stream, int priority, const StreamSpec& spec) = 0;
  /// Returns at once; work that is in the stream is still done.
  virtual void destroy_stream(StreamId stream) = 0;
  virtual void launch(StreamId stream, TaskId task) = 0;
  /// As launch(); its first kernel may start while the kernel before it drains. Only on devices
  /// that have such launches; by default as launch().
  virtual void launch_programmatically(StreamId stream, TaskId task) { launch(stream, task); }
  virtual void record(StreamId stream, EventId event) = 0;
  virtual void wait(StreamId stream, EventId event) = 0;
  [[nodiscard]] virtual bool idle(StreamId stream) = 0;
  virtual void synchronize(StreamId stream) = 0;
  virtual void synchronize(EventId event) = 0;
  virtual void synchronize() = 0;
  /// A row that load_graph() has made; rows of one graph run one after another.
  virtual void launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) = 0;
  /// The host does nothing until then, or until it is asked to stop. By default it looks at the
  /// clock all the time: a sleep of the system takes 50 us longer than asked for.
  virtual void sleep_until(Time until, const CpuClock& clock, const StopFlag* stop) {
    while (clock.now() < until && !stop_requested(stop)) std::this_thread::yield();
  }

  /// After the last call of a run, also of one that failed: adds to the trace what only the device
  /// knows.
  virtual void finish(Execution& /*out*/) {}

  /// At the end, also of a run that failed or did not begin: everything is idle, or lost. Destroys
  /// streams and graphs. Does not throw.
  virtual void end_run() = 0;
  /// With TaskTiming::events, after synchronize() and before end_run(): the tasks that ran.
  [[nodiscard]] virtual std::vector<TaskTime> task_times() = 0;
};

}  // namespace schedlab
