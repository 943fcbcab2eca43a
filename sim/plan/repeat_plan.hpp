// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"

#include <cstdint>

namespace schedlab {

struct RepeatOptions {
  std::uint32_t runs = 1;
  std::uint32_t tasks = 0;  ///< of one run: run r has the tasks from r * tasks on
  /// After so many runs the graphs are loaded anew, as for a new shape; 0: they serve all runs.
  std::uint32_t reload_every = 0;
};

/// The same plan several times: after each run every host waits until the devices are idle, as one
/// that reads the result. Streams that the plan creates and destroys are made anew by each run; of
/// others the first run creates and the last destroys what the plan does. A graph
/// is launched once more by each run; with reload_every its copy for the next runs is loaded
/// first (graph_load), whether the plan loads the first or not.
///
/// Throws InfeasibleError for a plan with messages, which are sent once, and if the tasks of all
/// runs are more than can be numbered. Cost O(runs * calls).
[[nodiscard]] Plan repeat_plan(const Plan& once, const RepeatOptions& options);

}  // namespace schedlab
