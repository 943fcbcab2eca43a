// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/machine/drift.hpp"
#include "studies/scenario/scenario_runner.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// What the calibration of a machine knows of the operations of one problem, as they are simulated
/// (PreparedProblem::simulated()).
struct OperationCalibration {
  /// Measured over predicted durations at points of the same class that the fit did not see; an
  /// operation without any is taken as exact. Empty: the machine is not calibrated.
  IdVector<OperationId, std::vector<double>> residuals;
  /// The model of the calibration in which each residual was measured. Those of one model are
  /// drawn together. Empty: each is drawn by itself.
  IdVector<OperationId, std::vector<std::uint64_t>> models{};
  /// How the machine's speed changed during the calibration; one of them is drawn for all
  /// operations. Empty: it did not.
  std::vector<DriftReading> drift{};
  /// Whether all kernels of the operation lie within the shapes that were measured.
  IdVector<OperationId, std::uint8_t> in_calibrated_range;
  double run_noise = 0;  ///< coefficient of variation of equal whole runs

  [[nodiscard]] bool known() const { return !residuals.empty() || run_noise > 0; }
};
using CalibrationLookup =
    std::function<OperationCalibration(std::uint64_t scenario, const PreparedProblem& problem)>;

/// A scenario as it was predicted.
struct PredictedScenario {
  std::uint64_t scenario = 0;
  std::shared_ptr<const FullRun> run;  ///< nullptr: see note
  std::string note;                    ///< why it cannot be predicted; empty: it can
  bool calibrated = false;
  bool in_calibrated_range = true;  ///< all operations that run; true where nothing is known
  /// Makespans of the draws, by draw, without the noise of whole runs; empty: not calibrated.
  std::vector<double> draws_us;
  double run_noise = 0;  ///< coefficient of variation of equal whole runs
};

struct DrawRequest {
  std::uint32_t draws = 100;
  std::uint64_t seed = 1;
};

/// Simulates the scenario, and once more for each draw with every operation's durations multiplied
/// by what ResidualDraws has for it: two policies for one workload meet the same errors, so that
/// their draws can be compared one by one. Durations are those of the first device.
///
/// A scenario that cannot run, or whose plan the checker objects to, has a note instead.
/// Throws Interrupted.
[[nodiscard]] PredictedScenario predict_scenario(ScenarioRunner& runner,
                                                 std::uint64_t scenario,
                                                 const CalibrationLookup& calibration,
                                                 const DrawRequest& request,
                                                 const StopFlag* stop);

/// A prediction as it would have been had the machine's speed of the measurement been known.
struct PredictionAtSpeed {
  DriftReading reading;  ///< median of the speed checks of the scenario's group
  Trace trace;
  IdVector<TaskId, Duration> durations;  ///< isolated
  std::vector<double> draws_us;          ///< as PredictedScenario's, with this reading and no other
};
/// The same plan (of a policy that decides while it runs: its decisions now) with the durations of
/// kernels multiplied by what `reading` says. Throws what simulating throws.
[[nodiscard]] PredictionAtSpeed predict_at_speed(const PredictedScenario& predicted,
                                                 const CalibrationLookup& calibration,
                                                 const DriftReading& reading,
                                                 const DrawRequest& request,
                                                 const StopFlag* stop);

/// The draws as medians of `runs` runs: each multiplied by a log-normal factor with mean 1 that
/// scatters as such a median does (a normal law's, 1.2533 / sqrt(runs) of a single run's), and is
/// not shared with other scenarios.
[[nodiscard]] std::vector<double> draws_of_medians(const PredictedScenario& predicted,
                                                   std::size_t runs,
                                                   std::uint64_t seed);

/// The decisions of the scenario's policy where it makes them while it runs; else nullptr.
[[nodiscard]] std::unique_ptr<OnlinePolicy> online_policy(const FullRun& run);

}  // namespace schedlab
