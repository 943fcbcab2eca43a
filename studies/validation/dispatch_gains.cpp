// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/dispatch_gains.hpp"

#include <algorithm>
#include <string>

namespace schedlab {
namespace {

constexpr std::string_view dispatch_axis = "/policy/dispatch";

/// Do two scenarios differ in that axis, and in no other?
bool differ_in_dispatch(const Grid& grid, std::uint64_t first, std::uint64_t second) {
  const std::vector<Cell> a = grid.axis_values(first);
  const std::vector<Cell> b = grid.axis_values(second);
  bool differ = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (grid.axes()[i].path != dispatch_axis) return false;
    differ = true;
  }
  return differ;
}

bool decides_dynamically(const Grid& grid, std::uint64_t scenario) {
  const auto& axes = grid.axes();
  const auto axis = std::find_if(axes.begin(), axes.end(), [](const AxisColumn& column) {
    return column.path == dispatch_axis;
  });
  return grid.axis_values(scenario)[static_cast<std::size_t>(axis - axes.begin())] ==
         Cell{std::string{"dynamic"}};
}

/// Of samples the mean.
double predicted_us(const PredictedScenario& scenario) {
  const std::vector<Duration>& samples = scenario.run->samples.makespans();
  if (samples.empty()) return to_us(scenario.run->trace.makespan());
  double sum = 0;
  for (const Duration makespan : samples) sum += to_us(makespan);
  return sum / static_cast<double>(samples.size());
}

}  // namespace

std::vector<DispatchGain> dispatch_gains(const Grid& grid,
                                         const std::vector<PredictedScenario>& predicted,
                                         const Validation& validation) {
  std::vector<DispatchGain> gains;
  for (const PairOutcome& pair : validation.pairs) {
    const std::uint64_t first = validation.scenarios[pair.first].scenario;
    const std::uint64_t second = validation.scenarios[pair.second].scenario;
    if (!differ_in_dispatch(grid, first, second)) continue;
    const bool turned = decides_dynamically(grid, first);
    const ScenarioOutcome& other = validation.scenarios[turned ? pair.second : pair.first];
    const ScenarioOutcome& dynamic = validation.scenarios[turned ? pair.first : pair.second];
    gains.push_back({.other = turned ? pair.second : pair.first,
                     .dynamic = turned ? pair.first : pair.second,
                     .predicted_gain = predicted_us(predicted[other.scenario]) /
                                       predicted_us(predicted[dynamic.scenario]),
                     .measured_gain = other.measured_us / dynamic.measured_us,
                     .decidable = pair.decidable});
  }
  return gains;
}

}  // namespace schedlab
