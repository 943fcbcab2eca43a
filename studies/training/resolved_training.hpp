// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/link_speed.hpp"
#include "real_exec/ranks/rank_link.hpp"
#include "real_exec/training/rank_costs.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"
#include "studies/training/training_spec.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// A training whose stages are cut and measured, and that is planned: the same on all ranks.
struct ResolvedTraining {
  PipelineTraining training;
  RankCosts costs;           ///< measured before the training
  bool cut_by_time = false;  ///< the stages are not the user's
  LinkSpeed link;            ///< known at rank 0
  TaskGraph graph;
  Platform platform;  ///< the ranks, a core for each, and the network as measured
  CostTable table;
  Plan plan;

  [[nodiscard]] Problem problem() const { return {graph, platform, table}; }
};

/// Rank 0 measures the layers alone and cuts the net into stages where the spec leaves it open;
/// then all ranks measure the stages, messages and sums. Called by all ranks of the link. Throws
/// InfeasibleError if the policy cannot schedule this pipeline, its plan has an error, or a stage
/// needs more memory than the spec allows.
[[nodiscard]] ResolvedTraining resolve_training(const TrainingSpec& spec, RankLink& link);

/// What can be said against the plan of so many stages before anything is measured: throws what
/// resolve_training() would throw for it. Where the cut is open, messages have no size yet and
/// ranks that wait for each other are not found.
void expect_plan(const TrainingSpec& spec, std::uint32_t stages);

}  // namespace schedlab
