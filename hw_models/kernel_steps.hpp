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
/// The steps of a task follow each other in its stream, stream_gap apart (in a device graph
/// graph_node_gap), and a task that runs alone takes as long as its one estimate says. The host
/// pays for a launch per kernel:
///   estimated costs  all before the first step, with which the others arrive, as a whole task
///                    does; a device graph has a node per task. Plans whose tasks never run
///                    concurrently are simulated by whole tasks, which is the same and faster.
///   measured costs   each before its own step, as the host of the measured machine does.
class KernelSteps {
 public:
  static constexpr std::size_t max_steps = 4'000'000;  // some 120 MB

  /// nullptr where that changes nothing (no operation has several kernels), for graphs that know
  /// the durations of single tasks, and for more than max_steps; with measured costs also for
  /// graphs that are divided among ranks. `costs` are those of `graph` by `model`.
  /// Throws what `model` throws.
  [[nodiscard]] static std::shared_ptr<const KernelSteps> of(const TaskGraph& graph,
                                                             const Platform& platform,
                                                             const CostTable& costs,
                                                             const CostModel& model);

  /// Does a task of several kernels share its device in this plan? Beside collectives alone it
  /// counts as whole.
  [[nodiscard]] bool needed(const Plan& plan) const;
  /// Tasks and operations are steps. It has no edges: plans order steps as they order tasks.
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  /// Costs of steps in streams, and of the steps of a plan.
  [[nodiscard]] const CostTable& costs() const { return costs_; }
  [[nodiscard]] const CostTable& costs(const Plan& plan) const {
    return by_node(plan) ? graph_costs_ : costs_;
  }
  /// Between two steps of a task.
  [[nodiscard]] Duration gap(const Plan& plan, const Platform& platform) const {
    const Device& device = platform.devices[DeviceId{0}];
    return by_node(plan) ? device.graph_node_gap : device.stream_gap;
  }
  /// The machine on which the graphs of the `expanded` plan cost the host as much as those of
  /// `plan` on `platform`, a node per task: rounded to a picosecond a node.
  [[nodiscard]] Platform platform_for(const Platform& platform,
                                      const Plan& plan,
                                      const Plan& expanded) const;
  /// Steps of a task; those of task 0 come first, then those of task 1.
  [[nodiscard]] std::uint32_t step_count(TaskId task) const {
    return first_[task.value() + 1] - first_[task.value()];
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return graph_.memory_bytes() + costs_.memory_bytes() + graph_costs_.memory_bytes();
  }

  [[nodiscard]] Plan expanded(const Plan& plan) const;
  /// Launches every step of what `policy` launches. `policy` must outlive it.
  [[nodiscard]] std::unique_ptr<OnlinePolicy> expanded(OnlinePolicy& policy) const;
  /// The inverse: launches of tasks, each where its first step was launched.
  [[nodiscard]] Plan folded(const Plan& plan) const;
  /// A task lasts from the start of its first step to the end of its last; a launch call from the
  /// begin of the first step's to the end of the last's. `plan`: the expanded one that ran.
  [[nodiscard]] Trace folded(const Plan& plan, const Trace& trace) const;
  /// Isolated durations of tasks from those of their steps, `gap` apart.
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
  [[nodiscard]] static std::shared_ptr<const KernelSteps> of_measured(const TaskGraph& graph,
                                                                      const Platform& platform,
                                                                      const Measured& model);
  [[nodiscard]] bool by_node(const Plan& plan) const { return !plan.graphs.empty() && !measured_; }
  // `steps`: operations of this graph by operation of the other one.
  void add_tasks(const TaskGraph& graph,
                 const std::vector<std::vector<OperationId>>& steps,
                 TaskGraphBuilder& builder);

  bool measured_ = false;
  TaskGraph graph_;
  CostTable costs_;
  CostTable graph_costs_;
  std::vector<std::uint32_t> first_;  // by task, and one more
  IdVector<TaskId, TaskId> task_of_;  // by step
};

/// What runs in the simulator: a problem of steps, or of whole tasks.
struct SimulatedProblem {
  const KernelSteps* steps;  ///< nullptr: whole tasks
  Problem problem;
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
