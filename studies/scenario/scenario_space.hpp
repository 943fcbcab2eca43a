// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/host_placement.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/base/shared_cache.hpp"
#include "studies/scenario/components.hpp"
#include "studies/scenario/scenario.hpp"
#include "studies/scenario/shared_parts.hpp"
#include "studies/spec/grid.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {

/// How a scenario is other than its spec says.
struct ScenarioAs {
  /// How finely the workload is cut where it leaves that open; nullopt: as the policy wants.
  std::optional<Granularity> granularity{};
  std::int64_t slices = 0;  ///< of the batch, where the spec leaves that open; 0: the fastest
};

/// The scenarios of a spec, and everything that several of them share. Thread-safe.
class ScenarioSpace {
 public:
  /// Spec and grid must outlive this.
  ScenarioSpace(const Spec& spec,
                const Grid& grid,
                std::shared_ptr<SharedParts> shared = std::make_shared<SharedParts>());

  /// The scenarios are executed on the workers of this computer besides. Graphs are cut into blocks
  /// for them also where the machine has no profile that says how; and what is simulated has the
  /// host where the execution has it: preloaded, its calls cost nothing; on the core of a worker,
  /// tasks take longer by what the host takes of the workers' time (run_fully only).
  /// To be called before anything is prepared.
  void prepare_for_execution(std::uint32_t workers, HostPlacement host);
  /// Every workload of the spec is this graph, which is not made from a file or by a generator.
  /// To be called before anything is prepared.
  void use_graph(std::shared_ptr<const TaskGraph> graph) { given_graph_ = std::move(graph); }
  /// Every machine of the spec is this one. To be called before anything is prepared.
  void use_machine(MachineSpec machine) {
    given_machine_ = std::make_shared<const MachineSpec>(std::move(machine));
  }
  /// 0: nothing is executed.
  [[nodiscard]] std::uint32_t workers() const { return workers_; }
  [[nodiscard]] HostPlacement host_placement() const { return host_; }

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const Components& components() const { return components_; }

  /// One scenario, resolved. Throws what graph, costs and policy throw, InfeasibleError if no
  /// number of slices can run, Interrupted when asked to stop.
  [[nodiscard]] Scenario scenario(std::uint64_t number,
                                  const ScenarioAs& as = {},
                                  const StopFlag* stop = nullptr);
  /// How it is launched; nothing that is executed copies inputs of a sunk model.
  [[nodiscard]] LaunchChoice launch(std::uint64_t number) const;
  /// How many slices its batch is cut into where the spec leaves that open, found once for each
  /// scenario; nullptr: the spec leaves nothing open.
  /// Throws InfeasibleError if no number can run, Interrupted when asked to stop.
  [[nodiscard]] std::shared_ptr<const AutoSplit> found_split(std::uint64_t number,
                                                             const StopFlag* stop = nullptr);

 private:
  // Workload, granularity, machine, cost model; launch if it changes machine or graph; ranks;
  // slices where they are left open, else 0.
  using ProblemKey = std::array<std::uint64_t, 7>;

  [[nodiscard]] std::shared_ptr<const ScenarioPolicy> policy(std::uint64_t index);
  /// Made once, so that what it fits to a profile is fitted once.
  [[nodiscard]] std::shared_ptr<const CostModel> cost_model(std::uint64_t index,
                                                            const MachineSpec& machine);
  [[nodiscard]] std::shared_ptr<const PreparedProblem> problem(const Scenario& scenario,
                                                               std::int64_t slices);
  [[nodiscard]] PreparedProblem make_problem(const ProblemKey& key, const LaunchChoice& launch);

  const Grid& grid_;
  std::shared_ptr<SharedParts> shared_;
  Components components_;
  std::vector<LaunchChoice> launches_;                // of the first alternatives
  std::shared_ptr<const TaskGraph> given_graph_;      // nullptr: of the spec's workloads
  std::shared_ptr<const MachineSpec> given_machine_;  // nullptr: those of the spec
  bool check_memory_;
  bool finds_splits_;          // of some workload
  std::uint32_t workers_ = 0;  // 0: not executed
  HostPlacement host_ = HostPlacement::own_core;
  SharedCache<std::array<std::uint64_t, 3>, TaskGraph> graphs_;  // workload, granularity, slices
  SharedCache<std::array<std::uint64_t, 2>, MachineSpec> machines_;  // machine, launch mode
  SharedCache<ProblemKey, PreparedProblem> problems_;
  SharedCache<std::uint64_t, ScenarioPolicy> policies_;
  SharedCache<std::uint64_t, AutoSplit> splits_;  // by scenario
  // By workload.
  SharedCache<std::uint64_t, std::optional<TensorParallel::Options>> tensor_parallel_;
};

}  // namespace schedlab
