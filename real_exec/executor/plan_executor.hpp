// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/device_executor.hpp"
#include "real_exec/executor/execution.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <optional>

namespace schedlab {

/// What a run allocated, counted at the allocations and not by the system.
struct AllocatedMemory {
  Bytes tensors_peak{};    ///< most that was held at once for tensors of the graph
  Bytes workspace{};       ///< arrays that no tensor of the graph stands for, held all the time
  bool by_tensor = false;  ///< else all tensors were allocated before the run
};

/// What the tasks of one graph do on a device. Each kind of device has its own: CpuWork, CudaWork.
class DeviceWork {
 public:
  DeviceWork() = default;
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
  virtual ~DeviceWork() = default;

  /// Called before each run, by one thread and with the device idle: what tasks add into starts at
  /// its first value again. Returns when the device has done it.
  virtual void reset() {}
  /// Memory that the last run allocated; nullopt if the work does not count it.
  [[nodiscard]] virtual std::optional<AllocatedMemory> memory() const { return std::nullopt; }
};

/// Runs plans on one device of this computer: one run at a time, by one thread.
class PlanExecutor {
 public:
  PlanExecutor() = default;
  PlanExecutor(const PlanExecutor&) = delete;
  PlanExecutor& operator=(const PlanExecutor&) = delete;
  virtual ~PlanExecutor() = default;

  [[nodiscard]] virtual const DeviceProperties& properties() const = 0;
  /// As given; what may change between runs.
  [[nodiscard]] virtual DeviceExecutorOptions& run_options() = 0;

  /// Runs the plan. `work` is of the executor's kind. `out` is filled also if this throws.
  virtual void run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) = 0;
  /// Asks the policy for each call in real time; out.plan is what it decided.
  virtual void run(const Problem& problem,
                   OnlinePolicy& policy,
                   DeviceWork& work,
                   Execution& out) = 0;
};

}  // namespace schedlab
