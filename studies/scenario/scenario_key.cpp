// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario.hpp"

#include <cstddef>

namespace schedlab {

std::shared_ptr<const AutoSplit> ScenarioSpace::found_split(std::uint64_t scenario,
                                                            const StopFlag* stop) {
  if (!finds_splits_ || !components_.finds_split(grid_.part_index(scenario, Part::workload))) {
    return nullptr;
  }
  const auto simulated = [&](std::int64_t slices) {
    return ScenarioRunner(*this, stop, slices).run(scenario, false);
  };
  return splits_.get(
      scenario,
      [&] { return find_split(simulated, stop); },
      [](const AutoSplit&) { return std::size_t{1}; });
}

ScenarioSpace::ProblemKey ScenarioSpace::problem_key(std::uint64_t scenario,
                                                     Granularity granularity,
                                                     const StopFlag* stop,
                                                     std::int64_t slices) {
  if (slices == 0) {
    const auto found = found_split(scenario, stop);
    if (found != nullptr) slices = found->chosen;
  }
  const LaunchChoice launch = launch_choice(scenario);
  const bool plain = launch.mode == LaunchMode::eager || launch.mode == LaunchMode::graph_launch;
  const std::uint64_t launch_key =
      plain && launch.runs == 1 ? 0 : 1 + grid_.part_index(scenario, Part::launch);
  // The granularity is part of the key even where the workload fixes it: then equal graphs are held
  // twice at most, which is cheaper than resolving the workload's options for every scenario.
  return {grid_.part_index(scenario, Part::workload),
          static_cast<std::uint64_t>(granularity),
          grid_.part_index(scenario, Part::machine),
          grid_.part_index(scenario, Part::cost_model),
          launch_key,
          grid_.part_index(scenario, Part::ranks),
          static_cast<std::uint64_t>(slices)};
}

}  // namespace schedlab
