// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/cache_costs.hpp"
#include "hw_models/kernel_steps.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/lower_bounds.hpp"

#include <memory>
#include <string>

namespace schedlab {

/// Graph, machine and costs of what runs.
struct PreparedProblem {
  std::shared_ptr<const TaskGraph> graph;
  std::shared_ptr<const MachineSpec> machine;
  CostTable costs;
  LowerBounds bounds;
  std::string cost_model;  ///< its name
  /// What a policy plans, where that is a part of it: one of several ranks, one of several runs, a
  /// sunk model without the copies of its inputs. nullptr: all of it.
  std::shared_ptr<const PreparedProblem> planned;
  /// All ranks that one plan is copied to, as one run without copies of inputs.
  std::shared_ptr<const TaskGraph> divided;
  bool overlap = true;  ///< of these ranks: collectives run beside other tasks
  /// Tasks kernel by kernel, as a device runs them; nullptr: none has several kernels.
  std::shared_ptr<const KernelSteps> steps;
  /// Costs that depend on what caches hold, so on the schedule; nullptr: they do not.
  std::shared_ptr<const CacheCosts> caches;

  [[nodiscard]] Problem problem() const { return {*graph, machine->platform, costs}; }
  [[nodiscard]] const PreparedProblem& part_to_plan() const {
    return planned != nullptr ? *planned : *this;
  }
  /// What runs in the simulator (run_by_kernel): of a plan, or of one that is decided while it
  /// runs, in which any task may co-run with others.
  [[nodiscard]] SimulatedProblem simulated(const Plan* plan = nullptr) const {
    if (steps == nullptr || (plan != nullptr && !steps->needed(*plan))) return {nullptr, problem()};
    const CostTable& by_step = plan != nullptr ? steps->costs(*plan) : steps->costs();
    return {steps.get(), {steps->graph(), machine->platform, by_step}};
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return costs.memory_bytes() + graph->memory_bytes() +
           (steps != nullptr ? steps->memory_bytes() : 0);
  }
};

}  // namespace schedlab
