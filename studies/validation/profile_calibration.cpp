// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/profile_calibration.hpp"

#include "sim/machine/kernel_profile.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// Interquartile range over standard deviation of a normal distribution.
constexpr double quartiles_over_deviation = 1.349;

}  // namespace

OperationCalibration ProfileCalibration::of(const PreparedProblem& problem) {
  OperationCalibration known;
  const Device& device = problem.machine->platform.devices[DeviceId{0}];
  if (calibrated_profile(device) == nullptr || problem.cost_model != model_.name()) return known;
  const auto& operations = problem.simulated().problem.graph.operations();
  known.run_noise = device.profile->noise / quartiles_over_deviation;
  known.drift = device.profile->drift;
  for (const Operation& operation : operations) {
    PredictionQuality quality = model_.quality(operation, device);
    known.residuals.push_back(std::move(quality.ratios));
    std::vector<std::uint64_t> models;
    for (const Bytes model : quality.working_sets) {
      models.push_back(static_cast<std::uint64_t>(model.count()));
    }
    known.models.push_back(std::move(models));
    known.in_calibrated_range.push_back(quality.in_calibrated_range ? 1 : 0);
  }
  return known;
}

}  // namespace schedlab
