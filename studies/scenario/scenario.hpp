// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/launch/launch.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/sampled_metrics.hpp"
#include "sim/trace/trace.hpp"
#include "studies/scenario/prepared_problem.hpp"
#include "studies/spec/auto_split.hpp"
#include "studies/spec/spec.hpp"
#include "studies/spec/variability.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace schedlab {

/// A policy as a spec names it, with what its registry says of it.
struct ScenarioPolicy {
  std::unique_ptr<Policy> policy;
  const PolicyInfo* info = nullptr;
};

/// One scenario of a spec as a value: all that a run of it needs. Problem and policy are shared
/// with scenarios that have the same.
struct Scenario {
  std::uint64_t number = 0;  ///< in its grid, as results have it
  /// Which alternative of each part of the spec it has: equal numbers, equal objects.
  std::array<std::uint64_t, part_count> parts{};
  std::shared_ptr<const PreparedProblem> problem;
  std::shared_ptr<const ScenarioPolicy> policy;
  Granularity granularity = Granularity::fine;  ///< of the tasks, where the workload leaves it open
  LaunchChoice launch;
  bool legacy_default_stream = false;  ///< stream 0 of its plan becomes one
  bool checks_memory = true;
  std::optional<Sampling> sampling;        ///< on a machine that scatters
  std::shared_ptr<const AutoSplit> split;  ///< how its batch was cut; nullptr: the spec says so
  /// Workers that execute it, one of which shares its core with the host; 0: none does.
  std::uint32_t sharing_workers = 0;

  [[nodiscard]] std::uint64_t part(Part part) const {
    return parts.at(static_cast<std::size_t>(part));
  }
  [[nodiscard]] const Policy& made_policy() const { return *policy->policy; }
  /// Is its plan made before it runs, whatever the policy? What a policy that decides while it runs
  /// decides when launching one run eagerly is then what the plan has.
  [[nodiscard]] bool planned_ahead() const { return launch.changes_plan(); }
  /// The decisions on `on` of a policy that makes them while it runs, on the streams that the spec
  /// wants; nullptr: the policy makes a plan.
  [[nodiscard]] std::unique_ptr<OnlinePolicy> online(const Problem& on) const;
};

/// A problem with the costs of one schedule.
struct ConvergedCosts {
  CostTable tasks;
  CostTable simulated;  ///< of steps or tasks, as PreparedProblem::simulated()
  LowerBounds bounds;
};

/// One scenario with everything that was recorded about it.
struct FullRun {
  Scenario scenario;
  /// What caches made of the costs in this run; nullptr: the costs are those of the scenario.
  std::shared_ptr<const ConvergedCosts> converged{};
  Plan plan{};
  Trace trace{};
  std::vector<Finding> findings{};
  Samples samples{};  ///< on a machine that scatters, if they were asked for; plan and trace are
                      ///< without noise

  /// The scenario's, with the costs of this run.
  [[nodiscard]] Problem problem() const;
  [[nodiscard]] SimulatedProblem simulated() const { return simulated(&plan); }
  [[nodiscard]] SimulatedProblem simulated(const Plan* plan_or_none) const;
  [[nodiscard]] const LowerBounds& bounds() const {
    return converged != nullptr ? converged->bounds : scenario.problem->bounds;
  }
};

}  // namespace schedlab
