// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/execution/execution.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/execution/scenario_works.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace schedlab {

/// How scenarios are run on a CUDA device.
struct CudaSettings {
  int device = 0;
  std::optional<std::uint32_t> connections{};  ///< nullopt: as the environment says
  std::optional<CudaPrecision> precision{};    ///< nullopt: as the workload's data type
  CudaProducts products = CudaProducts::cublas;
  /// Of workloads whose own kernels are not here; nullopt: of the kernels' shapes.
  std::optional<ProxyKernels> proxy{};
  bool debug_sync = false;
  /// Of lstm and gru; recomputation is always by tensor.
  TensorAllocation allocation = TensorAllocation::whole_run;
};

/// The number in "cuda" (0) or "cuda:2"; nullopt: not a CUDA device.
[[nodiscard]] std::optional<int> cuda_device_from(std::string_view word);

/// The word of an option that may be left out, which is one of enum_names<CudaProducts>() or "".
[[nodiscard]] CudaProducts cuda_products_of(std::string_view word);

/// Hardware connections that the machines of a spec have, for a process that runs its scenarios;
/// nullopt: more or other than CUDA can give, then as the environment says. Throws InputError if
/// the machines differ: one process has one number.
[[nodiscard]] std::optional<std::uint32_t> cuda_connections(const ScenarioSpace& space);

/// Executes scenarios of a space on a CUDA device, as ScenarioExecutor does on this computer's
/// cores. The space must not be prepared for workers: graphs keep the grids that they have.
class CudaScenarioExecutor {
 public:
  /// `space` must outlive this. Throws what CudaExecutor throws.
  CudaScenarioExecutor(ScenarioSpace& space,
                       const CudaSettings& settings,
                       const StopFlag* stop = nullptr);

  [[nodiscard]] const DeviceProperties& device() const { return executor_.properties(); }
  /// Does the scenario compute what its workload means, or only something of the same shapes?
  [[nodiscard]] bool computes(std::uint64_t scenario);

  /// As of ScenarioExecutor.
  [[nodiscard]] CudaRecurrentWork* recurrent_work(std::uint64_t scenario);
  [[nodiscard]] std::optional<AllocatedMemory> allocated(std::uint64_t scenario);

  /// One run. A policy that decides while it runs does so in real time, unless its plan is captured
  /// into device graphs: then it decides in the simulator. Plans are checked before they run, as a
  /// device would not notice a missing dependency.
  /// Throws what making the scenario and CudaExecutor::run throw, InfeasibleError for a plan with
  /// findings; `out` is filled also then, if the run has begun.
  void execute(std::uint64_t scenario, TaskTiming timing, Execution& out);

  /// Who is told of the launches of later runs; must outlive them. nullptr: nobody.
  void observe(LaunchObserver* observer) { executor_.run_options().observer = observer; }

  /// Gives back what was made for the scenarios so far, their tasks' data above all.
  void forget();

  /// The scenario on its own machine, with each task's measured duration as its cost.
  struct Measured {
    std::shared_ptr<const PreparedProblem> prepared;
    CostTable costs;
    [[nodiscard]] Problem problem() const {
      return {*prepared->graph, prepared->machine->platform, costs};
    }
  };
  [[nodiscard]] Measured measured(std::uint64_t scenario, const Execution& run);

 private:
  using Works = ScenarioWorks<CudaWork>;
  Works::Prepared& prepared(std::uint64_t scenario);
  [[nodiscard]] Works::MadeWork make_work(const PreparedProblem& problem,
                                          const std::optional<RecurrentSpec>& spec);

  CudaSettings settings_;
  CudaExecutor executor_;
  Works works_;
};

/// A CUDA device for `validate`: each run twice, once for the makespan, with nothing between the
/// tasks, and once with timing events for the times of the tasks.
class CudaMeasurer final : public Measurer {
 public:
  /// `space` must outlive this. Throws what CudaExecutor throws.
  CudaMeasurer(ScenarioSpace& space, const CudaSettings& settings, const StopFlag* stop)
      : executor_(space, settings, stop), products_(settings.products) {}

  [[nodiscard]] std::string device() const override;
  [[nodiscard]] MeasuredRun measure(const MeasureRequest& request) override;
  void begin_group() override { executor_.forget(); }

 private:
  CudaScenarioExecutor executor_;
  CudaProducts products_;
  Execution run_;
};

}  // namespace schedlab
