// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/find_split.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

constexpr std::int64_t max_slices = 64;  // assumed: far more than chips have core groups

}  // namespace

AutoSplit find_split(const std::function<ScenarioResult(std::int64_t slices)>& simulate,
                     const StopFlag* stop) {
  AutoSplit found;
  Duration best = Duration::max();
  int no_faster = 0;
  for (std::int64_t slices = 1; slices <= max_slices && no_faster < split_patience; ++slices) {
    if (stop_requested(stop)) throw Interrupted("stopped");
    const ScenarioResult result = simulate(slices);
    found.tried.push_back({.split = slices,
                           .makespan = result.summary.makespan,
                           .failure = result.failed ? result.note : std::string{}});
    if (!result.failed && result.summary.makespan < best) {
      best = result.summary.makespan;
      found.chosen = slices;
      no_faster = 0;
    } else {
      ++no_faster;
    }
  }
  if (found.chosen == 0) {
    throw InfeasibleError(fmt::format("split \"auto\": no number of slices can run\n  1: {}",
                                      found.tried.front().failure));
  }
  return found;
}

}  // namespace schedlab
