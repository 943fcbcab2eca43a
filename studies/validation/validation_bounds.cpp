// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation.hpp"

#include <fmt/format.h>

namespace schedlab {

std::vector<std::string> broken_bounds(const Validation& validation,
                                       const ValidationBounds& bounds) {
  std::vector<std::string> broken;
  const auto at_most = [&](const std::optional<double>& bound, double value, const char* what) {
    if (!bound) return;
    if (validation.inside.count == 0) {
      broken.push_back(fmt::format("{}: no scenario within the calibrated range", what));
    } else if (value > *bound) {
      broken.push_back(
          fmt::format("{} is {:.2f} %, above {:.2f} %", what, 100 * value, 100 * *bound));
    }
  };
  at_most(bounds.median_error, validation.inside.median, "median makespan error");
  at_most(bounds.p90_error, validation.inside.p90, "90 % point of the makespan error");
  const auto at_least = [&](const std::optional<double>& bound,
                            double value,
                            bool any,
                            const char* what,
                            const char* none) {
    if (!bound) return;
    if (!any) {
      broken.push_back(fmt::format("{}: {}", what, none));
    } else if (value < *bound) {
      broken.push_back(
          fmt::format("{} is {:.1f} %, below {:.1f} %", what, 100 * value, 100 * *bound));
    }
  };
  at_least(bounds.order,
           validation.order.value,
           validation.decidable > 0,
           "share of decidable pairs in the right order",
           "no pair is decidable");
  at_least(bounds.coverage,
           validation.coverage.value,
           validation.calibrated,
           "coverage of the 90 % intervals",
           "the machine is not calibrated");
  return broken;
}

}  // namespace schedlab
