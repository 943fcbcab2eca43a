// SPDX-License-Identifier: Apache-2.0
#include "profiler/perturbation.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/statistics.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace schedlab {
namespace {

std::vector<double> makespans(const std::function<Duration(bool)>& run,
                              bool profiled,
                              std::size_t runs) {
  std::vector<double> seconds;
  (void)run(profiled);
  for (std::size_t i = 0; i < runs; ++i) {
    const Duration makespan = run(profiled);
    SCHEDLAB_EXPECTS(makespan > Duration{0}, "a run whose perturbation is measured took no time");
    seconds.push_back(to_seconds(makespan));
  }
  return seconds;
}

double resampled_median(const std::vector<double>& values, Rng& rng) {
  std::vector<double> drawn(values.size());
  std::generate(drawn.begin(), drawn.end(), [&] { return values[rng.below(values.size())]; });
  return median(std::move(drawn));
}

}  // namespace

Perturbation measure_perturbation(const std::function<Duration(bool profiled)>& run,
                                  std::size_t runs) {
  constexpr std::size_t fewest = 3;
  SCHEDLAB_EXPECTS(runs >= fewest,
                   "perturbation needs at least 3 runs, not " + std::to_string(runs));
  const std::vector<double> all_plain = makespans(run, false, runs);
  const std::vector<double> all_profiled = makespans(run, true, runs);
  const std::vector<double> plain = without_outliers(all_plain);
  const std::vector<double> profiled = without_outliers(all_profiled);

  Perturbation result;
  result.plain = robust_summary(all_plain);
  result.profiled = robust_summary(all_profiled);
  result.slow_down = result.profiled.median / result.plain.median;
  // The two groups are independent: each is drawn from by itself.
  constexpr std::size_t resamples = 2000;
  Rng rng{1};
  std::vector<double> ratios(resamples);
  std::generate(ratios.begin(), ratios.end(), [&] {
    return resampled_median(profiled, rng) / resampled_median(plain, rng);
  });
  std::sort(ratios.begin(), ratios.end());
  result.interval = {.low = percentile(ratios, 0.025), .high = percentile(ratios, 0.975)};
  return result;
}

}  // namespace schedlab
