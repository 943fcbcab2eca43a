// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/machine/variability.hpp"
#include "studies/execution/measurement.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// A device for tests: the simulator with costs that are not quite those that were predicted.
class SimulatedDevice final : public Measurer {
 public:
  struct Behaviour {
    /// Factor on the predicted durations of an operation.
    std::function<double(const Operation&, Duration predicted)> factor =
        [](const Operation&, Duration) { return 1.0; };
    double task_cv = 0;       ///< of each task, in each run
    double run_cv = 0;        ///< of a whole run
    Duration launch_more{0};  ///< on top of the cost of each launch
    Duration timing_cost{0};  ///< how much longer a run is whose tasks are timed
    std::function<void(const MeasureRequest&)> before = [](const MeasureRequest&) {};
    /// What a speed check says.
    std::function<std::optional<DriftReading>()> check = [] {
      return std::optional<DriftReading>{};
    };
  };

  explicit SimulatedDevice(Behaviour behaviour) : is_(std::move(behaviour)) {}

  [[nodiscard]] std::string device() const override { return "simulated device"; }

  [[nodiscard]] MeasuredRun measure(const MeasureRequest& request) override {
    is_.before(request);
    order.push_back(request.scenario);
    const Problem nominal = request.predicted.scenario.problem->problem();
    const std::uint64_t run = runs_++;
    IdVector<TaskId, Duration> durations = nominal.costs.durations();
    const double whole = noise_factor(NoiseLaw::lognormal, is_.run_cv, run * 1'000'003);
    for (const TaskId task : durations.ids()) {
      const double noise =
          noise_factor(NoiseLaw::lognormal, is_.task_cv, run * 7919 + task.value());
      durations[task] = Duration{
          std::llround(static_cast<double>(durations[task].count()) *
                       is_.factor(nominal.graph.operation(task), durations[task]) * noise * whole)};
    }
    CostTable costs = nominal.costs;
    costs.set_task_durations(std::move(durations));
    Platform platform = nominal.platform;
    for (Host& host : platform.hosts) host.costs.launch += is_.launch_more;
    const Problem problem{nominal.graph, platform, costs};
    const SimulationOptions options{.record_hosts = true, .record_flows = true};
    if (request.online == nullptr) {
      return timed({simulator_.run(problem, request.predicted.plan, options), std::nullopt});
    }
    Simulator::Recording recording = simulator_.record(problem, *request.online, options);
    return timed({std::move(recording.trace), std::move(recording.plan)});
  }

  [[nodiscard]] std::optional<DriftReading> check_speed() override { return is_.check(); }

  std::vector<std::uint64_t> order;  ///< scenarios, as they were run

 private:
  [[nodiscard]] MeasuredRun timed(MeasuredRun run) const {
    if (is_.timing_cost == Duration{0}) return run;
    run.makespan = run.trace.makespan();
    run.trace.ended += is_.timing_cost;
    return run;
  }

  Behaviour is_;
  Simulator simulator_;
  std::uint64_t runs_ = 1;
};

}  // namespace schedlab::testing
