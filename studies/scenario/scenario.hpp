// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/cache_costs.hpp"
#include "hw_models/kernel_steps.hpp"
#include "real_exec/cpu/host_placement.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/summary.hpp"
#include "studies/base/shared_cache.hpp"
#include "studies/scenario/components.hpp"
#include "studies/scenario/recent_checks.hpp"
#include "studies/scenario/recent_plans.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/spec/auto_split.hpp"
#include "studies/spec/grid.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace schedlab {

/// Sweeps check plans of up to this many tasks: the check of a larger one takes longer than the
/// run. `simulate` checks every plan.
inline constexpr std::size_t largest_checked_graph = 20'000;

/// Graph, machine and costs that scenarios share.
struct PreparedProblem {
  std::shared_ptr<const TaskGraph> graph;
  std::shared_ptr<const MachineSpec> machine;
  CostTable costs;
  LowerBounds bounds;
  /// Of several ranks: what one of them is given to schedule, and how its plan becomes that of all.
  std::shared_ptr<const PreparedProblem> single;
  bool overlap = true;
  /// Of several runs: one of them.
  std::shared_ptr<const PreparedProblem> once;
  /// Of a sunk model whose inputs are copied first: without the copies, which is what is planned.
  std::shared_ptr<const PreparedProblem> model;
  /// Tasks kernel by kernel, as a device runs them; nullptr: none has several kernels.
  std::shared_ptr<const KernelSteps> steps;
  /// Costs that depend on what caches hold, so on the schedule; nullptr: they do not.
  std::shared_ptr<const CacheCosts> caches;

  [[nodiscard]] Problem problem() const { return {*graph, machine->platform, costs}; }
  /// What runs in the simulator (run_by_kernel): of a plan, or of one that is decided while it
  /// runs, in which any task may have company.
  [[nodiscard]] SimulatedProblem simulated(const Plan* plan = nullptr) const {
    if (steps == nullptr || (plan != nullptr && !steps->needed(*plan))) return {nullptr, problem()};
    const CostTable& by_step = plan != nullptr ? steps->costs(*plan) : steps->costs();
    return {steps.get(), {steps->graph(), machine->platform, by_step}};
  }
};

/// What all threads of a sweep share: the grid and everything that is made once. Thread-safe.
class ScenarioSpace {
 public:
  /// Both must outlive this.
  ScenarioSpace(const Spec& spec, const Grid& grid);

  /// The scenarios are executed on the workers of this computer besides. Graphs are cut into blocks
  /// for them also where the machine has no profile that says how; and what is simulated has the
  /// host where the execution has it: preloaded, its calls cost nothing; on the core of a worker,
  /// tasks take longer by what the host takes of the workers' time (run_fully only).
  /// To be called before anything is prepared.
  void prepare_for_execution(std::uint32_t workers, HostPlacement host);
  /// 0: nothing is executed.
  [[nodiscard]] std::uint32_t workers() const { return workers_; }
  [[nodiscard]] HostPlacement host_placement() const { return host_; }

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const Components& components() const { return components_; }
  [[nodiscard]] bool checks_memory() const { return check_memory_; }

  [[nodiscard]] LaunchChoice launch_choice(std::uint64_t scenario) const;
  [[nodiscard]] LaunchMode launch(std::uint64_t scenario) const {
    return launch_choice(scenario).mode;
  }
  /// Is its plan made before it runs, whatever the policy? What a policy that decides while it runs
  /// decides when launching one run eagerly is then what the plan has.
  [[nodiscard]] bool planned_ahead(std::uint64_t scenario) const {
    const LaunchChoice choice = launch_choice(scenario);
    return captures(choice.mode) || choice.runs > 1;
  }
  /// Whether stream 0 of its plan becomes a legacy default stream.
  [[nodiscard]] bool legacy_default_stream(std::uint64_t scenario) const;

  /// How many slices its batch is cut into where the spec leaves that open, found once for each
  /// scenario; nullptr: the spec leaves nothing open.
  /// Throws InfeasibleError if no number can run, Interrupted when asked to stop.
  [[nodiscard]] std::shared_ptr<const AutoSplit> found_split(std::uint64_t scenario,
                                                             const StopFlag* stop = nullptr);

  // Workload, granularity, machine, cost model; launch if it changes machine or graph; ranks;
  // slices where they are left open, else 0.
  using ProblemKey = std::array<std::uint64_t, 7>;
  /// With so many slices; 0: as the spec says, or as found_split() finds.
  [[nodiscard]] ProblemKey problem_key(std::uint64_t scenario,
                                       Granularity granularity,
                                       const StopFlag* stop = nullptr,
                                       std::int64_t slices = 0);
  [[nodiscard]] std::shared_ptr<const PreparedProblem> prepared(const ProblemKey& key);
  [[nodiscard]] std::shared_ptr<const Policy> policy(std::uint64_t index);

 private:
  /// Made once, so that what it fits to a profile is fitted once.
  [[nodiscard]] std::shared_ptr<const CostModel> cost_model(std::uint64_t index,
                                                            const MachineSpec& machine);
  [[nodiscard]] PreparedProblem make_single(const ProblemKey& key);
  /// The workload on one device, or as the spec and the workload divide it among ranks.
  [[nodiscard]] PreparedProblem make_once(const ProblemKey& key);
  [[nodiscard]] PreparedProblem make_ranks(const ProblemKey& key,
                                           const Transform& transform,
                                           std::uint32_t ranks);
  /// An alternative of the spec; nothing that is executed copies inputs of a sunk model.
  [[nodiscard]] LaunchChoice launch_alternative(std::uint64_t index) const;
  [[nodiscard]] PreparedProblem make_copied(PreparedProblem model,
                                            const SinkRun& run,
                                            std::uint64_t cost_model_index);
  [[nodiscard]] PreparedProblem make_repeated(PreparedProblem once,
                                              std::uint32_t runs,
                                              std::uint64_t cost_model_index);

  const Grid& grid_;
  Components components_;
  std::vector<LaunchChoice> launches_;  // of the first alternatives
  bool check_memory_;
  bool finds_splits_;          // of some workload
  std::uint32_t workers_ = 0;  // 0: not executed
  HostPlacement host_ = HostPlacement::own_core;
  SharedCache<std::array<std::uint64_t, 3>, TaskGraph> graphs_;  // workload, granularity, slices
  SharedCache<std::array<std::uint64_t, 2>, MachineSpec> machines_;  // machine, launch mode
  // Alternative; whether the machine has a profile, which decides the default.
  SharedCache<std::array<std::uint64_t, 2>, std::unique_ptr<CostModel>> cost_models_;
  SharedCache<ProblemKey, PreparedProblem> problems_;
  SharedCache<std::uint64_t, std::unique_ptr<Policy>> policies_;
  SharedCache<std::uint64_t, AutoSplit> splits_;  // by scenario
};

/// A prepared problem with the costs of one schedule.
struct SettledCosts {
  CostTable tasks;
  CostTable simulated;  ///< of steps or tasks, as PreparedProblem::simulated()
  LowerBounds bounds;
};

/// One scenario with everything that was recorded about it.
struct FullRun {
  std::shared_ptr<const PreparedProblem> prepared;
  /// What caches made of the costs in this run; nullptr: the costs are those of `prepared`.
  std::shared_ptr<const SettledCosts> settled;
  Plan plan;
  Trace trace;
  std::vector<Finding> findings;
  Samples samples;  ///< on a machine that scatters, if they were asked for; plan and trace are
                    ///< without noise

  /// As those of `prepared`, with the costs of this run.
  [[nodiscard]] Problem problem() const;
  [[nodiscard]] SimulatedProblem simulated() const { return simulated(&plan); }
  [[nodiscard]] SimulatedProblem simulated(const Plan* plan_or_none) const;
  [[nodiscard]] const LowerBounds& bounds() const {
    return settled != nullptr ? settled->bounds : prepared->bounds;
  }
};

/// How a scenario is run other than its spec says.
struct RunAs {
  /// How finely the workload is cut where it leaves that open; nullopt: as the policy wants.
  std::optional<Granularity> granularity;
  bool with_samples = true;  ///< on a machine that scatters
};

/// Runs scenarios one after another on one thread.
class ScenarioRunner {
 public:
  /// `space` must outlive this. `slices`: how many where the spec leaves it open; 0: the fastest.
  explicit ScenarioRunner(ScenarioSpace& space,
                          const StopFlag* stop = nullptr,
                          std::int64_t slices = 0)
      : space_(space), stop_(stop), slices_(slices) {}

  /// The numbers of one scenario. A scenario that cannot run (InfeasibleError, a contract its
  /// policy breaks) is a failed result, so that one bad combination does not end a sweep.
  [[nodiscard]] ScenarioResult run(std::uint64_t scenario, bool check, const RunAs& as = {});

  /// One scenario with host calls and event flows; the plan is checked.
  /// Throws what graph, costs, policy and simulation throw.
  [[nodiscard]] FullRun run_fully(std::uint64_t scenario, bool with_samples = false);

 private:
  // The last few, to be asked before the shared caches, which take a lock.
  struct RecentProblem {
    ScenarioSpace::ProblemKey key{};
    std::shared_ptr<const PreparedProblem> value;
  };
  struct RecentPolicy {
    std::uint64_t index = 0;
    std::shared_ptr<const Policy> value;
    bool plans_by_durations = false;
  };

  [[nodiscard]] std::shared_ptr<const PreparedProblem> prepared(std::uint64_t scenario,
                                                                Granularity granularity);
  [[nodiscard]] const RecentPolicy& policy_of(std::uint64_t scenario);
  // The decisions of a policy that makes them while it runs, on the streams that the spec wants.
  [[nodiscard]] std::unique_ptr<OnlinePolicy> online(std::uint64_t scenario,
                                                     const Policy& policy,
                                                     const Problem& problem) const;
  // Leaves the trace in recording_, whose memory is used again, and plan_.
  void simulate(std::uint64_t scenario,
                const PreparedProblem& prepared,
                const Policy& policy,
                const SimulationOptions& options);

  // Simulates it again, and an online policy decides again, with the costs of what was found in
  // caches, which go to settled_.
  void settle_costs(std::uint64_t scenario,
                    const PreparedProblem& prepared,
                    const Policy& policy,
                    const SimulationOptions& options,
                    bool decides_again);
  // Costs of the last run.
  [[nodiscard]] FullRun settled_run(const std::shared_ptr<const PreparedProblem>& prepared) const;

  // Simulates plan_ once more with tasks as much longer as the host that shares
  // their core makes them, if it does.
  void slow_for_shared_core(const FullRun& run, const SimulationOptions& options);
  // Throws InfeasibleError if the policy schedules one device only.
  void expect_all_ranks(std::uint64_t scenario, const TaskGraph& graph) const;
  // Throws InfeasibleError if the tensors of the run in recording_ do not fit.
  void expect_memory(const Problem& problem, Bytes peak) const;
  // Runs plan_ (an online policy: decides anew) on every draw of the machine.
  [[nodiscard]] Samples draw(std::uint64_t scenario, const FullRun& run, const Policy& policy);

  ScenarioSpace& space_;
  const StopFlag* stop_;
  std::int64_t slices_;
  Simulator simulator_;
  Summarizer summarizer_;
  std::vector<RecentProblem> problems_;
  std::vector<RecentPolicy> policies_;
  RecentPlans plans_;
  RecentChecks checks_;
  std::size_t recent_bytes_ = 0;
  Simulator::Recording recording_;
  const Plan* plan_ = nullptr;  // of the last run: that of recording_, or one of plans_
  std::shared_ptr<const SettledCosts> settled_;  // of recording_
  Simulator::Recording sample_;
  CostTable varied_costs_;
};

}  // namespace schedlab
