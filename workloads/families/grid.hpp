// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>

namespace schedlab {

/// The theory graph of back-propagation: `layers` x `steps` tasks of equal duration, task (l, t)
/// after (l+1, t) and (l, t+1). In series it takes layers * steps durations, along diagonals layers
/// + steps - 1. Ids: steps falling, within a step layers falling. Tasks are of kind fixed and
/// critical. Throws ContractViolation for a size below 1 or a negative duration, InfeasibleError
/// above 10^8 tasks.
[[nodiscard]] TaskGraph grid(std::int64_t layers, std::int64_t steps, Duration duration);

}  // namespace schedlab
