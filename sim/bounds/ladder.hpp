// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/bounds/demands.hpp"
#include "sim/bounds/witness.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace schedlab {

struct LadderOptions {
  /// Tasks times windows that energetic bounds may look at, for each resource; 0: none.
  std::size_t energetic_work = 0;
  /// Heads and tails are tightened by what the tasks before and after a task take if tasks times
  /// tasks and edges, for each resource, are no more; 0: never.
  std::size_t tightening_work = 0;
  /// Tasks times windows that are looked at to exclude deadlines where tasks last exactly as long
  /// as they must (`exclusive`); 0: none.
  std::size_t refutation_work = 0;
  Duration shortest{0};  ///< some plan's makespan, which no deadline need exceed; 0: not known
  /// True: no more deadlines are excluded. Asked often; nullptr: never.
  const std::function<bool()>* enough = nullptr;
};

/// The largest bound of each kind that the problem has, in the order of BoundKind, each with its
/// witness; empty for a graph without tasks.
/// Cost  O((tasks + edges) + pools * tasks log tasks), and the work of the options.
[[nodiscard]] std::vector<BoundWitness> bound_ladder(const BoundProblem& on,
                                                     const LadderOptions& options = {});

/// The largest of them; the first among equals. Shapes  not empty.
[[nodiscard]] const BoundWitness& largest(const std::vector<BoundWitness>& ladder);

}  // namespace schedlab
