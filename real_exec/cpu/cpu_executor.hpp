// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_work.hpp"
#include "real_exec/cpu/host_placement.hpp"
#include "real_exec/executor/execution.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace schedlab {

struct CpuExecutorOptions {
  /// Worker threads, each on a core of its own; 0: as many as there are cores for this process,
  /// one less if the host has its own core.
  std::uint32_t workers = 0;
  HostPlacement host = HostPlacement::own_core;
  bool pin = true;                    ///< bind threads to cores
  std::uint32_t priority_levels = 8;  ///< that streams are told apart by
  /// How long an idle thread looks for work before it sleeps. On a core that it shares it gives
  /// way at every look.
  Duration spin = std::chrono::microseconds{200};
  /// What the host thread spends on each kernel of a task before it launches it, as a framework
  /// does: it computes for that long. Nothing for tasks of a device graph, or preloaded.
  Duration front_end{0};
  bool record_blocks = true;  ///< fill Execution::blocks
  bool record_hosts = true;   ///< fill Trace::hosts
  const StopFlag* stop = nullptr;
  /// Called once by each worker thread before it runs anything, e.g. to give a library one thread.
  void (*prepare_worker)() = nullptr;
};

/// Runs plans on the cores of this machine: a stream machine with the simulator's semantics
/// (docs/execution.md), whose compute units are worker threads. Threads are made once and sleep
/// between runs. One run at a time; not thread-safe.
class CpuExecutor final : public PlanExecutor {
 public:
  /// Throws InfeasibleError if there are fewer cores than threads that want one of their own (with
  /// `pin`), DeviceError if threads cannot be made.
  explicit CpuExecutor(const CpuExecutorOptions& options);
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;
  ~CpuExecutor() override;

  [[nodiscard]] std::uint32_t workers() const;
  [[nodiscard]] const DeviceProperties& properties() const override;
  /// The front end counts; tasks are timed in every run.
  [[nodiscard]] DeviceExecutorOptions& run_options() override;

  /// Runs the plan. `out` is filled also if this throws.
  ///
  /// Errors  ContractViolation for a malformed plan, InfeasibleError for one that this machine
  ///         cannot run (several devices or hosts, collectives, messages, a legacy default stream)
  ///         and when nothing can go on (deadlock, with what every stream waits for),
  ///         ExecutionError if a task throws, Interrupted if the stop flag was set.
  void run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) override;
  void run(const Problem& problem, OnlinePolicy& policy, DeviceWork& work, Execution& out) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Cores that this process may use.
[[nodiscard]] std::uint32_t available_cores();

}  // namespace schedlab
