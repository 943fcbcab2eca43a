// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/scenario.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/interrupt.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// What the calibration of a machine knows of the operations of one problem.
struct OperationCalibration {
  /// Measured over predicted durations at points of the same class that the fit did not see; an
  /// operation without any is taken as exact. Empty: the machine is not calibrated.
  IdVector<OperationId, std::vector<double>> residuals;
  /// Whether all kernels of the operation lie within the shapes that were measured.
  IdVector<OperationId, std::uint8_t> inside_hull;
  double run_noise = 0;  ///< coefficient of variation of equal whole runs

  [[nodiscard]] bool known() const { return !residuals.empty() || run_noise > 0; }
};
using CalibrationLookup =
    std::function<OperationCalibration(std::uint64_t scenario, const PreparedProblem& problem)>;

/// Nothing is known: no intervals, no hull.
[[nodiscard]] OperationCalibration no_calibration(std::uint64_t scenario,
                                                  const PreparedProblem& problem);

/// A scenario as it was predicted.
struct PredictedScenario {
  std::uint64_t scenario = 0;
  std::shared_ptr<const FullRun> run;  ///< nullptr: see note
  std::string note;                    ///< why it cannot be predicted; empty: it can
  bool calibrated = false;
  bool inside_hull = true;  ///< all operations that run; true where nothing is known
  /// Makespans of the draws, by draw, without the noise of whole runs; empty: not calibrated.
  std::vector<double> draws_us;
  double run_noise = 0;  ///< coefficient of variation of equal whole runs
};

struct DrawRequest {
  std::uint32_t draws = 100;
  std::uint64_t seed = 1;
};

/// Simulates the scenario, and once more for each draw with every operation's durations multiplied
/// by one of its residuals. The
/// residual drawn for an operation depends on the seed, the number of the draw and the operation
/// (its name and kernels), on nothing else: two policies for one workload meet the same error, so
/// that their draws can be compared one by one. Durations are those of the first device.
///
/// A scenario that cannot run, or whose plan the checker objects to, has a note instead.
/// Throws Interrupted.
[[nodiscard]] PredictedScenario predict_scenario(ScenarioSpace& space,
                                                 ScenarioRunner& runner,
                                                 std::uint64_t scenario,
                                                 const CalibrationLookup& calibration,
                                                 const DrawRequest& request,
                                                 const StopFlag* stop);

/// The draws as medians of `runs` runs: each multiplied by a log-normal factor with mean 1 that
/// scatters as such a median does (a normal law's, 1.2533 / sqrt(runs) of a single run's), and is
/// not shared with other scenarios.
[[nodiscard]] std::vector<double> draws_of_medians(const PredictedScenario& predicted,
                                                   std::size_t runs,
                                                   std::uint64_t seed);

/// The decisions of the scenario's policy where it makes them while it runs; else nullptr.
[[nodiscard]] std::unique_ptr<OnlinePolicy> online_policy(ScenarioSpace& space,
                                                          std::uint64_t scenario,
                                                          const FullRun& run);

}  // namespace schedlab
