// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/device_backend.hpp"
#include "real_exec/executor/execution.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

struct DeviceExecutorOptions {
  TaskTiming timing = TaskTiming::none;
  /// Waits for each task (for each graph) before the next call: an error of a kernel is then that
  /// of the task just launched. Makes a plan serial; for finding faults.
  bool debug_sync = false;
  bool record_hosts = true;  ///< fill Trace::hosts
  /// What the host thread spends on each kernel of a task before it launches it, as a framework
  /// does: it computes for that long. Nothing for tasks of a device graph.
  Duration front_end{0};
  /// Each run finds the device as every other one does: at its clock rate under load, with nothing
  /// of use in its caches (DeviceBackend::begin_steadily). For times that are compared; not with an
  /// observer.
  bool steady_start = false;
  LaunchObserver* observer = nullptr;
  const StopFlag* stop = nullptr;
};

/// Runs plans on a device with streams: the calls of the plan's one host thread are made by the
/// calling thread, in order, as fast as they return.
///
/// The trace has the host's calls by the host's clock, and tasks as far as they were timed: with
/// TaskTiming::none it has no tasks, and its end is the return of the last synchronization. Flows
/// and blocks are not seen. A query asks the device; of a plan, its recorded answers decide
/// nothing.
///
/// Plans are trusted: a device cannot tell a missing dependency. Check them first (plan_check.hpp);
/// as waits look at the record at the time of the call, no plan that is made in order can deadlock.
class DeviceExecutor {
 public:
  /// `backend`, and what the options point to, must outlive this.
  explicit DeviceExecutor(DeviceBackend& backend, const DeviceExecutorOptions& options = {})
      : backend_(backend), options_(options) {}

  /// Runs the plan. `out` is filled also if this throws.
  ///
  /// Errors  ContractViolation for a malformed plan, InfeasibleError for one that one device with
  ///         one host cannot run (several devices or hosts, collectives, messages), ExecutionError
  ///         if a task fails, naming it, or, where the error came later, the tasks that are not
  ///         known to be complete; DeviceError if another call fails, or if the device holds a
  ///         graph that is not the plan's; Interrupted if the stop flag was set.
  void run(const TaskGraph& graph, const Plan& plan, Execution& out);
  /// Asks the policy for each call in real time; out.plan is what it decided.
  void run(const Problem& problem, OnlinePolicy& policy, Execution& out);

 private:
  DeviceBackend& backend_;
  DeviceExecutorOptions options_;
};

/// Puts times into the trace of a run that has no tasks yet (TaskTiming::none or profiler). The
/// streams, the order and the moments of the launches are those of the plan and of its host calls.
/// Throws ContractViolation for a task that the plan does not launch, or that has two times.
void set_task_times(Execution& run, std::span<const TaskTime> times);

}  // namespace schedlab
