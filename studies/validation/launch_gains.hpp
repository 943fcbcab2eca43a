// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/validation/prediction.hpp"
#include "studies/validation/validation.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// Two scenarios that differ in the launch mode alone: eager, and with all tasks loaded beforehand
/// and started by one call (graph_launch).
struct LaunchGain {
  std::size_t eager = 0;  ///< outcomes
  std::size_t loaded = 0;
  double operator_us = 0;     ///< mean device time of a task, as predicted
  double predicted_gain = 0;  ///< eager makespan over the loaded one
  double measured_gain = 0;
};

/// The operator size at which host and device cost meet, of scenarios that differ in their workload
/// and launch mode alone: the loaded run takes as long per operator as the eager run of the
/// smallest operators, which is the host's time. Linear between the sizes of the grid.
struct LaunchCrossover {
  std::string name;                    ///< the axes they share; may be empty
  std::size_t sizes = 0;               ///< gains it is made of
  std::optional<double> predicted_us;  ///< nullopt: not within the sizes of the grid
  std::optional<double> measured_us;   ///< of the medians
  std::optional<double> fastest_us;    ///< of each scenario's fastest run

  /// predicted / measured - 1; nullopt unless both are known.
  [[nodiscard]] std::optional<double> error() const;
};

struct LaunchGains {
  std::vector<LaunchGain> gains;
  std::vector<LaunchCrossover> crossovers;
};

/// Empty without such pairs. Of several alternatives of a launch mode the first counts.
[[nodiscard]] LaunchGains launch_gains(const ScenarioSpace& space,
                                       const std::vector<PredictedScenario>& predicted,
                                       const Validation& validation);

/// Per operator: where `loaded_us` (by rising size) reaches the eager time of the smallest size.
/// nullopt if it does not within the sizes, or does at the smallest already.
struct LaunchPoint {
  double operator_us = 0;
  double eager_us = 0;
  double loaded_us = 0;
};
[[nodiscard]] std::optional<double> crossover_size(const std::vector<LaunchPoint>& points);

}  // namespace schedlab
