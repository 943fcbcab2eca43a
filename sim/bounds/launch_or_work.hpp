// SPDX-License-Identifier: Apache-2.0
// Internal to the ladder: a bound of host and device together.
#pragma once

#include "sim/bounds/demands.hpp"
#include "sim/bounds/witness.hpp"

#include <vector>

namespace schedlab::bounds {

/// Before a task, the pivot, starts, it and all tasks before it have been launched. Any other task
/// has been launched before that start as well, and takes its launch, or takes what it needs of the
/// pool after it, as the pivot and all tasks after it do: it costs at least the lesser of the two.
/// The best pivot of each pool of a device, in the order of pools_of(); above 0.
/// Cost  O(tasks * (tasks * pools + edges)).
[[nodiscard]] std::vector<BoundWitness> launch_or_work_bounds(const BoundProblem& on);

}  // namespace schedlab::bounds
