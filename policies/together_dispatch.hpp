// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/list_schedule.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>

namespace schedlab {

/// May tasks of the problem gain from being held? On one device whose units are asked for more than
/// they get done by some task. Cost  O(tasks).
[[nodiscard]] bool gains_by_holding(const Problem& problem);

/// List scheduling by what units get done: whenever a task ends, of the most urgent ready tasks the
/// fewest start with which the units of the device get most done, at least one if it is more urgent
/// than all that run. One more task starts if more than `least_gain` of the units is gained by it.
/// Blocks are spread in whole blocks (on_fullest_unit()), so four tasks may take as long as five:
/// the four are held until there are five. A task that is held waits, by an event, for the one
/// whose end let it go.
/// Shapes  one device whose units are shared block by block (shares_units()).
/// Cost    O(tasks (streams + log tasks) + edges). Bandwidth, latencies and the host do not count.
[[nodiscard]] PlanBuilder dispatch_together(const Problem& problem,
                                            std::uint32_t streams,
                                            const Urgency& urgency,
                                            double least_gain);

}  // namespace schedlab
