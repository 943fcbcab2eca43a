// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/cpu/proxy_work.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/machine/platform.hpp"
#include "studies/execution/scenario_works.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace schedlab {

/// How scenarios are run on this machine's cores.
struct ExecutionSettings {
  std::uint32_t workers = 0;  ///< 0: as many as CpuExecutor takes
  HostPlacement host = HostPlacement::own_core;
  bool pin = true;
  /// Of workloads whose own kernels are not here; nullopt: of the kernels' shapes.
  std::optional<ProxyKernels> proxy;
  /// Of lstm; recomputation is always by tensor.
  TensorAllocation allocation = TensorAllocation::whole_run;
};

/// Of weights and inputs, on every device.
inline constexpr std::uint64_t execution_data_seed = 1;

/// "spin", "shapes", or "" for the real kernels where they are here.
[[nodiscard]] std::optional<ProxyKernels> proxy_from(std::string_view word);

/// Cores of this process that are left for workers.
[[nodiscard]] std::uint32_t default_workers(HostPlacement host);

/// `settings` with workers and host on the machine of `space`. Left out (0, nullopt), as many
/// workers as the machine's profile was measured with, and the host on a core of its own if one is
/// left. Throws InputError for another number of workers than the profile's.
[[nodiscard]] ExecutionSettings calibrated_settings(ExecutionSettings settings,
                                                    std::optional<HostPlacement> given,
                                                    const ScenarioSpace& space);

/// Executes scenarios of a space, as often as asked, in any order. The graphs of the space must be
/// cut for as many workers as there are (ScenarioSpace). Keeps what tasks compute on in memory, per
/// workload and granularity.
class ScenarioExecutor {
 public:
  /// `space` must outlive this. Throws what CpuExecutor throws.
  ScenarioExecutor(ScenarioSpace& space,
                   const ExecutionSettings& settings,
                   std::uint32_t priority_levels,
                   const StopFlag* stop = nullptr);

  [[nodiscard]] std::uint32_t workers() const { return executor_.workers(); }
  /// Does the scenario compute what its workload means, or only something of the same shapes?
  [[nodiscard]] bool computes(std::uint64_t scenario);

  /// What the scenario's tasks compute on, where they compute what its workload means; else
  /// nullptr. It lives until forget().
  [[nodiscard]] RecurrentWork* recurrent_work(std::uint64_t scenario);

  /// One run. A policy that decides while it runs does so in real time, unless its plan is captured
  /// into device graphs: then it decides in the simulator.
  /// Throws what making the scenario, CpuExecutor::run and the tasks throw; `out` is filled also
  /// then, if the run has begun.
  void execute(std::uint64_t scenario, Execution& out);
  /// What the scenario's last run allocated, where its tensors are allocated one by one.
  [[nodiscard]] std::optional<AllocatedMemory> allocated(std::uint64_t scenario);

  /// Gives back what was made for the scenarios so far, their tasks' data above all.
  void forget();

  /// The scenario's graph on a platform that has one unit per worker, with each task's measured
  /// duration as its cost: what metrics of a measured trace refer to.
  struct Measured {
    std::shared_ptr<const PreparedProblem> prepared;
    Platform platform;
    CostTable costs;
    [[nodiscard]] Problem problem() const { return {*prepared->graph, platform, costs}; }
  };
  [[nodiscard]] Measured measured(std::uint64_t scenario, const Execution& run);

 private:
  using Works = ScenarioWorks<CpuWork>;
  Works::Prepared& prepared(std::uint64_t scenario);
  [[nodiscard]] Works::MadeWork make_work(const PreparedProblem& problem,
                                          const std::optional<RecurrentSpec>& spec) const;

  ExecutionSettings settings_;
  std::uint32_t levels_;
  CpuExecutor executor_;
  Works works_;
};

}  // namespace schedlab
