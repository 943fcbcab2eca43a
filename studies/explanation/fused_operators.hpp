// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>

namespace schedlab {

/// A problem and a plan in which operators were fused.
struct FusedRun {
  TaskGraph graph;
  CostTable costs;
  Plan plan;
  Bytes saved_traffic{};  ///< memory traffic that is not there any more
};

/// Up to `most` consecutive operators of one stream become one, launched once where the first of
/// them was: between them the host does nothing else with that stream, and does not wait for the
/// device. A fused operator takes as long as its parts together, on the units of their
/// time-weighted mean, less what it need not move: a tensor that one part writes and others, all
/// point-wise or reductions, read is not read again, and not written if it has no other readers.
/// With its traffic the time of a part shrinks down to what its computing takes, as far as the cost
/// model says what that is (Estimate::compute_share); each keeps its kernel's floor.
///
/// `sleeps_are_work`: a sleep is what the host does anyway, and not a wait by which it decides; it
/// stays as long as it was.
/// Throws InfeasibleError for a plan of several hosts, with device graphs or collectives.
/// Cost O(tasks + edges + calls).
[[nodiscard]] FusedRun fuse_operators(const Problem& problem,
                                      const Plan& plan,
                                      std::uint32_t most,
                                      bool sleeps_are_work = false);

}  // namespace schedlab
