// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/measured.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// A problem kernel by kernel. A task of several kernels is one piece to policies and plans; a
/// device runs its kernels one after another in the task's stream, and in the pause between two of
/// them blocks of other streams take the units. Here every kernel is a task of its own, a *step*:
/// plans of the problem are expanded to plans of its steps, simulated, and the trace is folded
/// back.
///
/// The steps of a task follow each other in its stream, stream_gap apart, so that a task without
/// company takes as long as its one estimate says. Their launches are calls of the host as the
/// estimate counts them: one for each kernel.
class KernelSteps {
 public:
  /// nullptr where that changes nothing (no operation has several kernels), and for graphs that are
  /// divided among ranks or know the durations of single tasks.
  /// Throws what `model` throws.
  [[nodiscard]] static std::shared_ptr<const KernelSteps> of(const TaskGraph& graph,
                                                             const Platform& platform,
                                                             const Measured& model);

  /// Tasks and operations are steps. It has no edges: plans order steps as they order tasks.
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const CostTable& costs() const { return costs_; }
  /// Steps of a task; those of task 0 come first, then those of task 1.
  [[nodiscard]] std::uint32_t step_count(TaskId task) const {
    return first_[task.value() + 1] - first_[task.value()];
  }

  [[nodiscard]] Plan expanded(const Plan& plan) const;
  /// Launches every step of what `policy` launches. `policy` must outlive it.
  [[nodiscard]] std::unique_ptr<OnlinePolicy> expanded(OnlinePolicy& policy) const;
  /// The inverse: launches of tasks, each where its first step was launched.
  [[nodiscard]] Plan folded(const Plan& plan) const;
  /// A task lasts from the start of its first step to the end of its last; a launch call from the
  /// begin of the first step's to the end of the last's. `plan`: the expanded one that ran.
  [[nodiscard]] Trace folded(const Plan& plan, const Trace& trace) const;
  /// Durations of tasks without company from those of their steps, `gap` apart.
  [[nodiscard]] IdVector<TaskId, Duration> folded(const IdVector<TaskId, Duration>& durations,
                                                  Duration gap) const;

 private:
  KernelSteps() = default;
  [[nodiscard]] TaskId first_step(TaskId task) const { return TaskId{first_[task.value()]}; }
  [[nodiscard]] bool is_first(TaskId step) const {
    return first_[task_of_[step].value()] == step.value();
  }
  [[nodiscard]] DeviceGraph expanded(const DeviceGraph& graph) const;
  [[nodiscard]] DeviceGraph folded(const DeviceGraph& graph) const;

  class Expanding;

  TaskGraph graph_;
  CostTable costs_;
  std::vector<std::uint32_t> first_;  // by task, and one more
  IdVector<TaskId, TaskId> task_of_;  // by step
};

/// Simulator::run_into by steps; without steps as it is. `problem` is that of the steps if there
/// are any, and `plan` and `trace` are those of the tasks.
void run_by_kernel(Simulator& simulator,
                   const KernelSteps* steps,
                   const Problem& problem,
                   const Plan& plan,
                   const SimulationOptions& options,
                   Trace& trace);
/// Simulator::record_into, likewise.
void record_by_kernel(Simulator& simulator,
                      const KernelSteps* steps,
                      const Problem& problem,
                      OnlinePolicy& policy,
                      const SimulationOptions& options,
                      Simulator::Recording& recording);

}  // namespace schedlab
