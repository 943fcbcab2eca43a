// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/execution.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "real_exec/recurrent/trained_network.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/machine/platform.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace schedlab {

/// Executes scenarios of a space on a device, as often as asked, in any order. What tasks compute
/// on is kept in memory per workload, granularity and number of slices that was found.
class ScenarioExecutor {
 public:
  /// `space` must outlive this, and be what the device's kind has prepared.
  ScenarioExecutor(ScenarioSpace& space,
                   std::unique_ptr<ExecutionDevice> device,
                   const StopFlag* stop = nullptr);

  [[nodiscard]] ExecutionDevice& device() { return *device_; }
  [[nodiscard]] const DeviceTraits& traits() const { return device_->traits(); }

  /// Does the scenario compute what its workload means, or only something of the same shapes?
  [[nodiscard]] bool computes(std::uint64_t scenario) { return prepared(scenario).made->computes; }
  /// What the scenario's tasks train, where they compute what its workload means; else nullptr. It
  /// lives until forget().
  [[nodiscard]] TrainedNetwork* network(std::uint64_t scenario);
  /// What the scenario's last run allocated, where its tensors are allocated one by one.
  [[nodiscard]] std::optional<AllocatedMemory> allocated(std::uint64_t scenario);

  /// One run. A policy that decides while it runs does so in real time, unless its plan is captured
  /// into device graphs: then it decides in the simulator. Plans are checked before they run, as a
  /// device would not notice a missing dependency.
  /// Throws what making the scenario, the executor and the tasks throw, InfeasibleError for a plan
  /// with findings and for what the device does not have; `out` is filled also then, if the run has
  /// begun.
  /// Where tasks spin and the spec has `variability`, run i takes the durations of sample i, so
  /// that scenarios that run in turn meet the same; not observed.
  void execute(std::uint64_t scenario, TaskTiming timing, Execution& out);
  /// Who is told of the launches of later runs; must outlive them. nullptr: none.
  void observe(LaunchObserver* observer) { device_->executor().run_options().observer = observer; }

  /// Gives back what was made for the scenarios so far, their tasks' data above all.
  void forget();

  /// What metrics of a measured run refer to: the scenario's graph with each task's measured
  /// duration as its cost. On its own machine, or, if the device sees blocks, on a platform that
  /// has one unit per worker.
  struct Measured {
    std::shared_ptr<const PreparedProblem> prepared;
    Platform platform;
    CostTable costs;
    [[nodiscard]] Problem problem() const { return {*prepared->graph, platform, costs}; }
  };
  [[nodiscard]] Measured measured(std::uint64_t scenario, const Execution& run);

 private:
  struct Work {
    ExecutionDevice::PreparedWork made;
    std::shared_ptr<const PreparedProblem> problem;  // whose graph the work refers to
  };
  struct Prepared {
    Scenario scenario;
    std::optional<Plan> plan;  // none: an online policy decides
    const ExecutionDevice::PreparedWork* made = nullptr;
    std::uint64_t runs = 0;  ///< so far
  };

  Prepared& prepared(std::uint64_t scenario);
  void expect_one_run(const Scenario& scenario) const;
  [[nodiscard]] Plan checked_plan(const Scenario& scenario);
  [[nodiscard]] const ExecutionDevice::PreparedWork& work_of(const Scenario& scenario);
  static void draw_durations(Prepared& ready);
  [[nodiscard]] Duration preparation(const Scenario& scenario) const;

  ScenarioSpace& space_;
  std::unique_ptr<ExecutionDevice> device_;
  ScenarioRunner planner_;
  std::map<std::uint64_t, Prepared> scenarios_;
  std::map<std::array<std::uint64_t, 3>, Work> works_;  // workload, granularity, slices found
};

/// A device for `validate`. One that does not see its tasks runs each scenario twice: once for the
/// makespan, with nothing between the tasks, and once for the times of the tasks.
class DeviceMeasurer final : public Measurer {
 public:
  /// As ScenarioExecutor.
  DeviceMeasurer(ScenarioSpace& space,
                 std::unique_ptr<ExecutionDevice> device,
                 const StopFlag* stop);

  [[nodiscard]] std::string device() const override;
  [[nodiscard]] MeasuredRun measure(const MeasureRequest& request) override;
  /// Weights and activations of the last group's workload are given back.
  void begin_group() override { executor_.forget(); }
  [[nodiscard]] std::optional<DriftReading> check_speed() override;

 private:
  ScenarioExecutor executor_;
  bool checks_speed_;
  Execution run_;
};

}  // namespace schedlab
