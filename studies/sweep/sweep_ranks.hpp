// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"
#include "studies/sweep/sweep_run.hpp"

namespace schedlab {

// A sweep over several processes, on one computer or many. Rank 0 holds the store, hands out ranges
// of scenarios and works on some itself; the others work and send their rows. Every rank has the
// same spec. `request.jobs` threads on each rank, 0: one.

/// As run_scenarios(), on rank 0. Rows are equal for any number of ranks; they are added as they
/// come, so that a killed run loses at most what was under way.
/// Throws what a rank's work throws; rows that came before are kept.
SweepCounts run_scenarios_on_ranks(ScenarioSpace& space,
                                   ResultsStore& store,
                                   const SweepRequest& request,
                                   RankLink& link,
                                   const StopFlag* stop,
                                   const SweepObserver& observer);

/// What the other ranks do, until there is no more work.
void work_for_rank_0(ScenarioSpace& space,
                     const SweepRequest& request,
                     RankLink& link,
                     const StopFlag* stop);

}  // namespace schedlab
