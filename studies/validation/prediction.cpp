// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/prediction.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/machine/variability.hpp"
#include "studies/validation/residual_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

/// A host that shares a core makes tasks longer (ScenarioSpace::prepare_for_execution), which the
/// costs do not say: by how much.
double slowed_by_host(const FullRun& run, const SimulationOptions& options, Simulator& simulator) {
  if (run.trace.hosts.empty()) return 1.0;  // it makes no calls: workers take tasks themselves
  Trace plain;
  const SimulatedProblem what = run.simulated();
  run_by_kernel(simulator, what.steps, what.problem, run.plan, options, plain);
  const double plain_us = to_us(plain.makespan());
  return plain_us > 0 ? to_us(run.trace.makespan()) / plain_us : 1.0;
}

/// Simulates one run with durations multiplied by operation.
class FactoredRuns {
 public:
  FactoredRuns(const FullRun& run, const StopFlag* stop)
      : run_(run),
        what_(run.simulated(online_policy(run) ? nullptr : &run.plan)),
        nominal_(what_.problem),
        durations_(nominal_.costs.durations()),
        costs_(nominal_.costs),
        options_{.stop = stop},
        slowed_(slowed_by_host(run, options_, simulator_)) {}

  [[nodiscard]] const Problem& nominal() const { return nominal_; }
  [[nodiscard]] double slowed() const { return slowed_; }

  /// What is simulated: steps, or tasks.
  [[nodiscard]] IdVector<TaskId, Duration> durations(
      const IdVector<OperationId, double>& factors) const {
    IdVector<TaskId, Duration> drawn = durations_;
    for (const TaskId task : drawn.ids()) {
      const double factor = factors[nominal_.graph.operation_id(task)];
      drawn[task] = Duration{std::llround(static_cast<double>(durations_[task].count()) * factor)};
    }
    return drawn;
  }

  [[nodiscard]] const Trace& simulate(const IdVector<OperationId, double>& factors) {
    costs_.set_task_durations(durations(factors));
    const Problem problem{nominal_.graph, nominal_.platform, costs_};
    const KernelSteps* const steps = what_.steps;
    if (const auto online = online_policy(run_)) {
      record_by_kernel(simulator_, steps, problem, *online, options_, recording_);
    } else {
      run_by_kernel(simulator_, steps, problem, run_.plan, options_, recording_.trace);
    }
    return recording_.trace;
  }

 private:
  const FullRun& run_;
  SimulatedProblem what_;
  Problem nominal_;
  IdVector<TaskId, Duration> durations_;
  CostTable costs_;
  SimulationOptions options_;
  Simulator simulator_;
  Simulator::Recording recording_;
  double slowed_;
};

std::vector<double> draw_makespans(FactoredRuns& runs,
                                   const OperationCalibration& calibration,
                                   const DrawRequest& request) {
  const ResidualDraws draws{runs.nominal(), calibration};
  std::vector<double> makespans;
  for (std::uint32_t draw = 0; draw < request.draws; ++draw) {
    const Trace& trace = runs.simulate(draws.factors(request.seed, draw));
    makespans.push_back(runs.slowed() * to_us(trace.makespan()));
  }
  return makespans;
}

bool all_inside(const TaskGraph& graph, const OperationCalibration& calibration) {
  const auto tasks = graph.tasks();
  return std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
    const OperationId operation = graph.operation_id(task);
    return !calibration.in_calibrated_range.contains(operation) ||
           calibration.in_calibrated_range[operation] != 0;
  });
}

}  // namespace

std::vector<double> draws_of_medians(const PredictedScenario& predicted,
                                     std::size_t runs,
                                     std::uint64_t seed) {
  std::vector<double> draws = predicted.draws_us;
  if (predicted.run_noise <= 0 || runs == 0) return draws;
  const double of_median = runs == 1 ? 1.0 : 1.2533 / std::sqrt(static_cast<double>(runs));
  for (std::size_t draw = 0; draw < draws.size(); ++draw) {
    draws[draw] *= noise_factor(NoiseLaw::lognormal,
                                predicted.run_noise * of_median,
                                draw_seed(seed + runs, draw, ~predicted.scenario));
  }
  return draws;
}

std::unique_ptr<OnlinePolicy> online_policy(const FullRun& run) {
  if (run.scenario.planned_ahead()) return nullptr;
  return run.scenario.online(run.scenario.problem->problem());
}

PredictedScenario predict_scenario(ScenarioRunner& runner,
                                   std::uint64_t scenario,
                                   const CalibrationLookup& calibration,
                                   const DrawRequest& request,
                                   const StopFlag* stop) {
  PredictedScenario predicted;
  predicted.scenario = scenario;
  try {
    auto run = std::make_shared<FullRun>(runner.run_fully(scenario, true));
    if (!run->findings.empty()) {
      predicted.note = fmt::format("the plan checker objects: {}", run->findings.front().message);
      return predicted;
    }
    const OperationCalibration known = calibration(scenario, *run->scenario.problem);
    predicted.calibrated = known.known();
    predicted.in_calibrated_range = all_inside(run->simulated().problem.graph, known);
    if (known.known()) {
      FactoredRuns runs(*run, stop);
      predicted.draws_us = draw_makespans(runs, known, request);
    }
    predicted.run_noise = known.run_noise;
    predicted.run = std::move(run);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::runtime_error& error) {  // InputError, InfeasibleError
    predicted.note = error.what();
  } catch (const ContractViolation& error) {
    predicted.note = error.what();
  }
  return predicted;
}

PredictionAtSpeed predict_at_speed(const PredictedScenario& predicted,
                                   const CalibrationLookup& calibration,
                                   const DriftReading& reading,
                                   const DrawRequest& request,
                                   const StopFlag* stop) {
  PredictionAtSpeed result;
  result.reading = reading;
  FactoredRuns runs(*predicted.run, stop);
  IdVector<OperationId, double> factors = drift_factors(runs.nominal(), reading);
  for (double& factor : factors) factor *= runs.slowed();
  result.trace = runs.simulate(factors);
  const auto& steps = predicted.run->scenario.problem->steps;
  result.durations = runs.durations(factors);
  if (steps != nullptr) {
    const Device& device = runs.nominal().platform.devices[DeviceId{0}];
    result.durations = steps->folded(result.durations, device.stream_gap);
  }
  if (predicted.draws_us.empty()) return result;
  OperationCalibration known = calibration(predicted.scenario, *predicted.run->scenario.problem);
  known.drift = {reading};
  result.draws_us = draw_makespans(runs, known, request);
  return result;
}

}  // namespace schedlab
