// SPDX-License-Identifier: Apache-2.0
#include "calibration/co_residency_fit.hpp"

#include "calibration/device_experiments.hpp"
#include "calibration/simulated_device_bench.hpp"
#include "sim/base/robust_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view fitted_rule = "co_run_compute_compute";
constexpr std::string_view other_rule = "co_run_compute_memory";
constexpr double min_factor = 0.1;       // what a machine file takes
constexpr double min_effect = 0.01;      // of the rule, from factor 1 to 0.1: else there is none
constexpr double min_difference = 1e-3;  // from factor 1: less is rounding

/// The rules of kernels side by side, simulated.
class SimulatedCoRuns {
 public:
  SimulatedCoRuns(Platform platform, double factor) {
    for (Device& device : platform.devices) device.co_residency_factor = factor;
    SimulatedDeviceBench bench{std::move(platform)};
    readings_ = measure_co_runs(bench, {.runs = 1});
  }
  [[nodiscard]] double value(std::string_view rule) const {
    const auto found = std::find_if(readings_.begin(),
                                    readings_.end(),
                                    [&](const RuleReading& one) { return one.name == rule; });
    return found == readings_.end() || !found->measured() ? 0.0 : median(found->values);
  }

 private:
  std::vector<RuleReading> readings_;
};

}  // namespace

std::optional<CoResidencyFit> fit_co_residency(const Platform& believed,
                                               const DeviceReport& sheet) {
  const MeasuredRule* const rule = sheet.find(fitted_rule);
  if (rule == nullptr || !rule->value) return std::nullopt;
  const auto simulated = [&](double factor) {
    return SimulatedCoRuns{believed, factor}.value(fitted_rule);
  };
  CoResidencyFit fit{.factor = 1.0,
                     .measured = *rule->value,
                     .without = simulated(1.0),
                     .other_measured = 0,
                     .other_simulated = 0};
  const double most = simulated(min_factor);
  if (most < fit.without * (1 + min_effect) || fit.measured > most) return std::nullopt;
  if (rule->low > fit.without * (1 + min_difference)) {
    // The less units get done, the longer it takes: halves the range to 2^-12 of it.
    double low = min_factor;
    double high = 1.0;
    for (int step = 0; step < 12; ++step) {
      const double middle = (low + high) / 2;
      (simulated(middle) > fit.measured ? low : high) = middle;
    }
    fit.factor = (low + high) / 2;
  }
  if (const MeasuredRule* const other = sheet.find(other_rule); other != nullptr && other->value) {
    fit.other_measured = *other->value;
    fit.other_simulated = SimulatedCoRuns{believed, fit.factor}.value(other_rule);
  }
  return fit;
}

NumberSource co_residency_source(const CoResidencyFit& fit, const DeviceReport& sheet) {
  std::string text = fmt::format(
      "schedlab calibrate on {}, {}: fitted so that the simulator agrees in rule {}, {:.3f} "
      "({:.3f} at factor 1)",
      sheet.device,
      sheet.date.empty() ? "undated" : sheet.date,
      fitted_rule,
      fit.measured,
      fit.without);
  if (fit.other_measured > 0) {
    text += fmt::format("; not fitted on {}: {:.3f}, simulated {:.3f}",
                        other_rule,
                        fit.other_measured,
                        fit.other_simulated);
  }
  return {.pointer = "/device/co_residency_factor",
          .value = fit.factor,
          .origin = Origin::measured,
          .text = std::move(text)};
}

}  // namespace schedlab
