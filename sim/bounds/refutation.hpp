// SPDX-License-Identifier: Apache-2.0
// Internal to the ladder: no schedule ends by a deadline, shown by deductions.
#pragma once

#include "sim/bounds/demands.hpp"
#include "sim/bounds/witness.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace schedlab::bounds {

/// What a refutation begins with. References: they must outlive it.
struct RefutationProblem {
  const BoundProblem& on;
  const IdVector<TaskId, Duration>& duration;
  const IdVector<TaskId, Duration>& head;
  const IdVector<TaskId, Duration>& tail;
};

struct RefutationLimits {
  std::size_t work = 0;                           ///< tasks times windows
  const std::function<bool()>* enough = nullptr;  ///< true: it ends with what it has
};

/// Raises `known`, a lower bound, by destructive improvement (Klein, Scholl, EJOR 112(2), 1999,
/// doi 10.1016/S0377-2217(97)00442-6): deadlines are refuted by energetic reasoning with
/// adjustments (Baptiste, Le Pape, Nuijten, Annals of Operations Research 92, 1999, doi
/// 10.1023/A:1018995000688), shaving, and branching over start times. No deadline from `shortest`
/// on is looked at; 0: none is known. nullopt: nothing was refuted within the limits, or tasks may
/// last longer than they must.
[[nodiscard]] std::optional<BoundWitness> refutation_bound(const RefutationProblem& problem,
                                                           Duration known,
                                                           Duration shortest,
                                                           RefutationLimits limits);

}  // namespace schedlab::bounds
