// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/trace/summary.hpp"
#include "studies/scenario/recent_checks.hpp"
#include "studies/scenario/recent_plans.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <cstdint>
#include <memory>

namespace schedlab {

/// Sweeps check plans of up to this many tasks: the check of a larger one takes longer than the
/// run. `simulate` checks every plan.
inline constexpr std::size_t largest_checked_graph = 20'000;

/// Runs scenarios one after another on one thread, whose memory is used again.
class ScenarioRunner {
 public:
  /// `space` must outlive this.
  explicit ScenarioRunner(ScenarioSpace& space, const StopFlag* stop = nullptr)
      : space_(space), stop_(stop) {}

  /// The numbers of one scenario. A scenario that cannot run (InfeasibleError, a contract its
  /// policy breaks) is a failed result, so that one bad combination does not end a sweep.
  [[nodiscard]] ScenarioResult run(std::uint64_t number,
                                   bool check,
                                   const ScenarioAs& as = {},
                                   bool with_samples = true);

  /// One scenario with host calls and event flows; the plan is checked.
  /// Throws what graph, costs, policy and simulation throw.
  [[nodiscard]] FullRun run_fully(const Scenario& scenario, bool with_samples = false);
  [[nodiscard]] FullRun run_fully(std::uint64_t number, bool with_samples = false) {
    return run_fully(space_.scenario(number, {}, stop_), with_samples);
  }

 private:
  void add_numbers(const Scenario& scenario, bool check, bool with_samples, ScenarioResult& result);
  // Leaves the trace in recording_, whose memory is used again, and plan_.
  void simulate(const Scenario& scenario, const SimulationOptions& options);
  // Puts what the policy plans or decides for its part of the problem into recording_ or plan_.
  // True: it has been run, as it was decided.
  [[nodiscard]] bool plan(const Scenario& scenario, const SimulationOptions& options);
  // Simulates it again, and an online policy decides again, with the costs of what was found in
  // caches, which go to converged_.
  void converge_costs(const Scenario& scenario, const SimulationOptions& options, bool replans);
  // Simulates plan_ once more with tasks as much longer as the host that shares
  // their core makes them, if it does.
  void slow_for_shared_core(const FullRun& run, const SimulationOptions& options);
  // Throws InfeasibleError if the tensors of the run in recording_ do not fit.
  void expect_memory(const Problem& problem, Bytes peak) const;
  // Runs plan_ (an online policy: decides anew) on every draw of the machine.
  [[nodiscard]] Samples draw(const FullRun& run);

  ScenarioSpace& space_;
  const StopFlag* stop_;
  Simulator simulator_;
  Summarizer summarizer_;
  RecentPlans plans_;
  RecentChecks checks_;
  Simulator::Recording recording_;
  const Plan* plan_ = nullptr;  // of the last run: that of recording_, or one of plans_
  std::shared_ptr<const ConvergedCosts> converged_;  // of recording_
  Simulator::Recording sample_;
  CostTable varied_costs_;
};

}  // namespace schedlab
