// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

// From where on a warning is worth its line. // assumed
constexpr std::size_t min_runs = 15;
constexpr double much_scatter = 0.1;  // of repeated runs
constexpr double much_other_load = 0.05;
constexpr double much_drift = 0.05;
constexpr double much_change = 0.2;

}  // namespace

std::vector<std::string> validation_warnings(const ValidationReport& report) {
  const Validation& all = report.validation;
  std::vector<std::string> warnings;
  if (!report.measured.complete) {
    warnings.emplace_back(
        "Stopped before the end: the figures are of the rounds that were finished.");
  }
  if (all.all.count < all.scenarios.size()) {
    warnings.push_back(
        fmt::format("{} of {} scenarios could not be compared; the column note says why.",
                    all.scenarios.size() - all.all.count,
                    all.scenarios.size()));
  }
  const auto of_data_sheets =
      std::count_if(all.scenarios.begin(), all.scenarios.end(), [](const ScenarioOutcome& outcome) {
        return outcome.compared() && outcome.predicted_evidence == CostEvidence::data_sheet;
      });
  if (of_data_sheets > 0 && static_cast<std::size_t>(of_data_sheets) < all.all.count) {
    warnings.push_back(
        fmt::format("Predictions of {} of {} scenarios rest on data sheets alone, of the others on "
                    "measured kernels: see column predicted_evidence.",
                    of_data_sheets,
                    all.all.count));
  }
  const double others = report.measured.other_load.value_or(0);
  if (all.spread > much_scatter || others > much_other_load) {
    warnings.push_back(
        fmt::format("The machine was not idle: other processes had {:.0f} % of its cores, and "
                    "equal runs scatter by {:.0f} % between their quartiles. Errors of medians "
                    "are theirs, too.",
                    100 * others,
                    100 * all.spread));
  }
  const SpeedSummary& speed = all.speed;
  if (speed.checks > 0 &&
      (std::abs(speed.overall - 1) > much_drift || speed.p95 / speed.p5 - 1 > much_change)) {
    warnings.push_back(fmt::format(
        "The machine was not as fast as when it was calibrated: the same kernels took {:.2f} times "
        "as long (median of {} speed checks), between {:.2f} and {:.2f} times in nine of ten. What "
        "that "
        "does to the errors is \"drift\" in the error budget.",
        speed.overall,
        speed.checks,
        speed.p5,
        speed.p95));
  }
  const auto few =
      std::count_if(all.scenarios.begin(), all.scenarios.end(), [](const ScenarioOutcome& outcome) {
        return outcome.compared() && outcome.runs < min_runs;
      });
  if (few > 0) {
    warnings.push_back(
        fmt::format("{} scenarios have fewer than {} runs: which pairs are decidable, and the "
                    "intervals of the medians, are then rough.",
                    few,
                    min_runs));
  }
  return warnings;
}

}  // namespace schedlab
